#include <cstdio>
int main() { std::fputs("foretoken\n", stderr); return 2; }
