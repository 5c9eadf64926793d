module verify-license

go 1.19
