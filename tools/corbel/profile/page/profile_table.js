// SPDX-License-Identifier: Apache-2.0
// Sortable tables with a limited number of rows in the document.

const ROWS_AT_ONCE = 200;

class Table {
  // A column has a title, value(row) by which it sorts, text(row), and number: whether it is one.
  constructor(host) {
    this.host = host;
    this.sorts = new Map();
  }

  // `id` names the table, which keeps its order and the number of its rows when it is shown again.
  show(id, columns, rows, choose) {
    this.id = id;
    this.columns = columns;
    this.rows = rows;
    this.choose = choose;
    this.limit = ROWS_AT_ONCE;
    if (!this.sorts.has(id)) {
      this.sorts.set(id, { column: columns.findIndex((each) => each.first), down: true });
    }
    this.render();
  }

  render() {
    const sort = this.sorts.get(this.id);
    const column = this.columns[Math.min(sort.column, this.columns.length - 1)];
    const sign = sort.down ? -1 : 1;
    this.rows.sort((a, b) => {
      const x = column.value(a), y = column.value(b);
      return x < y ? -sign : x > y ? sign : 0;
    });
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    this.columns.forEach((each, i) => head.append(this.heading(each, i, sort)));
    const body = table.createTBody();
    for (const row of this.rows.slice(0, this.limit)) body.append(this.row(row));
    const parts = [table];
    if (this.rows.length === 0) {
      const empty = document.createElement("p");
      empty.className = "empty";
      empty.textContent = "Nothing matches.";
      parts.push(empty);
    }
    if (this.rows.length > this.limit) {
      const more = document.createElement("button");
      more.textContent = `${this.rows.length - this.limit} more`;
      more.style.margin = "10px 16px";
      more.addEventListener("click", () => {
        this.limit *= 4;
        this.render();
      });
      parts.push(more);
    }
    this.host.replaceChildren(...parts);
  }

  heading(column, index, sort) {
    const cell = document.createElement("th");
    cell.scope = "col";
    if (column.number) cell.className = "number";
    if (index === sort.column) cell.setAttribute("aria-sort", sort.down ? "descending" : "ascending");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = column.title;
    button.addEventListener("click", () => {
      const down = index === sort.column ? !sort.down : Boolean(column.number);
      this.sorts.set(this.id, { column: index, down });
      this.render();
      this.host.querySelectorAll("th button")[index].focus();
    });
    cell.append(button);
    return cell;
  }

  row(data) {
    const row = document.createElement("tr");
    for (const column of this.columns) {
      const cell = row.insertCell();
      if (column.share) {
        const bar = document.createElement("span");
        bar.className = "share";
        bar.style.width = Math.max(0, Math.min(1, column.share(data))) * 90 + "px";
        cell.append(bar);
        continue;
      }
      cell.textContent = column.text(data);
      cell.className = (column.number ? "number" : column.narrow ? "name narrow" : column.name ? "name" : "") +
                       (column.mark ? " " + column.mark(data) : "");
      if (column.title_of) cell.title = column.title_of(data);
    }
    if (this.choose) {
      row.tabIndex = 0;
      row.addEventListener("click", () => this.choose(data));
      row.addEventListener("keydown", (event) => {
        if (event.key === "Enter") this.choose(data);
      });
    }
    return row;
  }
}
