# SPDX-License-Identifier: Apache-2.0
#
# For test_opencascade.py, a script for Open CASCADE's DRAW: boolean operations and meshes, in
# parallel. Environment: SIZE, the number of columns of holes.

pload MODELING
dparallel -occt 0
if {![string match "*UseOcct:*0*" [dparallel]]} { puts "DRAW does not use TBB"; exit }
brunparallel 1

# A shape is a variable of the scope that created it, so this looks one scope up.
proc figures {shape} {
  regexp {Mass :\s+(\S+)} [uplevel 1 vprops $shape 1e-6] all mass
  set counts [regexp -all -inline {\d+} [regsub {.*?\n} [uplevel 1 nbshapes $shape] ""]]
  return "$counts volume $mass"
}

proc clear {} { bclearobjects; bcleartools }

if {[catch {
  clear
  box plate 0 0 0 120 80 10
  baddobjects plate
  for {set i 0} {$i < $env(SIZE)} {incr i} {
    for {set j 0} {$j < 5} {incr j} {
      pcylinder tool$i$j 3 20
      ttranslate tool$i$j [expr {10 + 14 * $i}] [expr {10 + 15 * $j}] -5
      baddtools tool$i$j
    }
  }
  bfillds
  foreach {name operation} {common 0 fused 1 pierced 2} {
    bbop $name $operation
    puts "result $name [figures $name]"
  }
  psphere ball 10
  ptorus ring 10 4
  ttranslate ring 5 0 0
  bfuse both ball ring
  puts "result both [figures both]"
  clear
  for {set i 0} {$i < 4} {incr i} {
    psphere ball$i 10
    ttranslate ball$i [expr {4 * $i}] [expr {3 * ($i % 2)}] 0
    baddobjects ball$i
  }
  bfillds
  bbuild parts
  puts "result parts [figures parts]"
  foreach shape {pierced both parts} {
    incmesh $shape 0.02 -parallel 1
    puts "result mesh [regsub -all {\s+} [trinfo $shape] { }]"
  }
  puts "result end"
} message]} {
  puts stderr "error: $message"
}
exit
