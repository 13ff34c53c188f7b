/* SPDX-License-Identifier: Apache-2.0
   Conveniences of the result page: a filter and sorting for the tables of rows, and folding of all
   numbers at once. The page is complete without them. */
document.querySelectorAll(".switch").forEach((box) => {
  const tools = box.querySelector(".tools");
  const table = box.querySelector("table");
  const search = document.createElement("input");
  search.type = "search";
  search.placeholder = "filter rows";
  search.setAttribute("aria-label", "Show only rows whose text contains");
  const only = document.createElement("label");
  const tick = document.createElement("input");
  tick.type = "checkbox";
  only.append(tick, " only rows where Corbel is worse");
  tools.append(search);
  if (table.querySelector(".higher, .lower, .same")) tools.append(only);
  const shown = () => (box.querySelector('input[id$="-m"]').checked ? ".m" : ".t");
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    table.querySelectorAll("tbody").forEach((body) => {
      let group = "";
      for (const row of body.rows) {
        if (row.className === "group") group = row.textContent.toLowerCase();
        if (row.className) continue;
        const text = group + row.cells[0].textContent.toLowerCase() + " t" +
          row.cells[1].textContent;
        const worse = row.querySelector(".first " + shown() + ".higher");
        row.hidden = !words.every((word) => text.includes(word)) || (tick.checked && !worse);
      }
    });
  };
  search.addEventListener("input", filter);
  tick.addEventListener("change", filter);
  box.querySelectorAll("input[type=radio]").forEach((r) => r.addEventListener("change", filter));
  const key = (row, column) => {
    const cell = row.cells[column];
    const text = (cell.querySelector("span" + shown()) || cell).textContent;
    const number = parseFloat(text);
    return column === 0 ? text : Number.isNaN(number) ? Infinity : number;
  };
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    head.setAttribute("aria-sort", "none");
    head.title = "sort within each group";
    head.tabIndex = 0;
    const sort = () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      for (const body of table.tBodies) {
        const rows = [...body.rows].filter((row) => !row.className);
        const last = body.querySelector("tr.mean");
        rows.sort((a, b) => {
          const [x, y] = [key(a, column), key(b, column)];
          return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
        }).forEach((row) => body.insertBefore(row, rows.length ? last : null));
      }
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => event.key === "Enter" && sort());
  });
});
const numbers = document.querySelectorAll(".chapter details");
const contents = document.querySelector("nav details");
if (numbers.length && contents) {
  const button = document.createElement("button");
  button.textContent = "Show all numbers";
  button.addEventListener("click", () => {
    const open = button.textContent.startsWith("Show");
    numbers.forEach((each) => { each.open = open; });
    button.textContent = open ? "Fold the numbers" : "Show all numbers";
  });
  contents.append(button);
}
