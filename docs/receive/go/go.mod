module receive

go 1.19
