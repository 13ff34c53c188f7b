# SPDX-License-Identifier: Apache-2.0
#
# A script for Open CASCADE's DRAW, used by program.py and test/programs/test_opencascade.py. It builds
# shapes, then repeatedly writes and reads STEP in one process. Results that can be compared go to
# standard output in lines "result ..."; CPU time goes there in lines "time ...".
#
# Environment: CONVERSIONS, their number; FOLDER, for the STEP files; COLUMNS, the size of the model, up
# to 8, the default.

pload MODELING XDE

if {![info exists env(COLUMNS)]} { set env(COLUMNS) 8 }

# CPU time of this process in nanoseconds, or wall time if the system does not count it.
proc processor_time {} {
  if {[catch {open /proc/self/schedstat} file]} { return [expr {[clock microseconds] * 1000}] }
  set nanoseconds [lindex [read $file] 0]
  close $file
  return $nanoseconds
}

# A shape is a variable of the scope that created it, so these procedures look one scope up.
proc volume {shape} {
  regexp {Mass :\s+(\S+)} [uplevel 1 vprops $shape 1e-6] all mass
  return $mass
}

proc counts {shape} {
  return [regexp -all -inline {\d+} [regsub {.*?\n} [uplevel 1 nbshapes $shape] ""]]
}

# Both scripts run at the top level: a shape made in a procedure would be local to it.
# A plate with holes, studs and rounded edges: a few hundred faces of several kinds of surface.
set build {
  box plate 0 0 0 120 80 10
  for {set i 0} {$i < $env(COLUMNS)} {incr i} {
    for {set j 0} {$j < 5} {incr j} {
      set x [expr {10 + 14 * $i}]
      set y [expr {10 + 15 * $j}]
      if {($i + $j) % 2} {
        pcylinder tool 3 20
        ttranslate tool $x $y -5
        bcut plate plate tool
      } else {
        pcone tool 4 2 8
        ttranslate tool $x $y 8
        bfuse plate plate tool
      }
    }
  }
  box block 0 0 0 30 20 15
  explode block e
  blend round block 2 block_1 2 block_3 1 block_5
  psphere ball 9
  ttranslate ball 15 10 15
  bcut part round ball
  ptorus ring 20 4
  ttranslate ring 60 40 30
  compound plate part ring model
}

set convert {
  set file $env(FOLDER)/model$n.stp
  # These two start from an empty session; stepwrite and stepread would add to the current one.
  testwritestep $file model
  testreadstep $file back
  if {$n % 10 == 1} {
    puts "result $n [counts back] volume [volume back] [file size $file]"
  }
  unset back
  if {$n > 1 && $n < $env(CONVERSIONS)} { file delete $file }
}

if {[catch {
  eval $build
  puts "result model [counts model] volume [volume model]"
  for {set n 1} {$n <= $env(CONVERSIONS)} {incr n} {
    set start [processor_time]
    eval $convert
    puts "time $n [expr {[processor_time] - $start}]"
  }
  foreach name {maps status} {
    set from [open /proc/self/$name]
    set to [open $env(FOLDER)/$name w]
    puts $to [read $from]
    close $to
    close $from
  }
  puts "result end"
} message]} {
  puts stderr "error: $message"
}
exit
