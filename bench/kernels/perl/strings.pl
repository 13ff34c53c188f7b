# SPDX-License-Identifier: Apache-2.0
# Builds, splits, joins, replaces, sorts and counts strings: strings.pl ROUNDS LINES
use strict;
use warnings;

my ($rounds, $lines) = @ARGV;
my $state = 1;

sub draw {    # below a bound; the same on every machine
    $state = ($state * 1103515245 + 12345) % 2147483648;
    return int($state / 65536) % $_[0];
}

my @syllables = map { chr(97 + $_ % 26) . ('a', 'e', 'i', 'o', 'u')[$_ % 5] } 0 .. 129;

sub word {
    return join('', map { $syllables[draw(130)] } 0 .. draw(6));
}

for my $round (1 .. $rounds) {
    my @text;
    for (1 .. $lines) {
        push @text, join(' ', map { word() } 0 .. draw(12)) . ";" . draw(100000);
    }
    my (%count, %places, @long);
    for my $number (0 .. $#text) {
        my ($words, $value) = split /;/, $text[$number];
        for my $word (split / /, $words) {
            $count{$word} += $value;
            push @{$places{$word}}, $number;
        }
        (my $changed = $words) =~ s/([aeiou])(\w)/$2$1/g;
        push @long, uc($changed) . "." . reverse($words) if $value % 3 == 0;
    }
    my $all = join("\n", @long);
    my $found = () = $all =~ /[A-Z]{9,}/g;
    my @most = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
    my $places = 0;
    $places += @{$places{$_}} for @most;
    print join("|", $round, scalar(@text), scalar(@most), $places, length($all), $found,
        map { "$_=$count{$_}" } @most[0 .. 9]), "\n";
}
