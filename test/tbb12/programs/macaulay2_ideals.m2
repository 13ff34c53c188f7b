-- SPDX-License-Identifier: Apache-2.0
-- For test_macaulay2.py.
setRandomSeed 1;
R = ZZ/101[a..i];
M = genericMatrix(R, a, 3, 3);
print("result minors " | toString betti res minors(2, M));
S = ZZ/101[a..g];
J = ideal random(S^1, S^{4:-3});
print("result F4 " | toString numColumns groebnerBasis(J, Strategy => "F4"));
G = groebnerBasis(J, Strategy => "MGB");
print("result MGB " | toString (numColumns G, max degrees source G));
use R;
C = res(ideal(random(3, R), random(3, R), random(2, R)), FastNonminimal => true);
print("result resolution " | toString betti C);
print("result end");
exit 0
