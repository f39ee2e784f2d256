// Plain JavaScript, since the bootstrap reads it too, under whatever Node there is. Its types stand beside it.

export const enginePackages = ['docker.io', 'iptables', 'mmdebstrap', 'ca-certificates', 'tini', 'zstd']
