module flotilla.local/chart-program

go 1.25.0

require helm.sh/helm/v3 v3.20.2
