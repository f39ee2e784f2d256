/** An entry of a home that no backup contains, by choice. */
export interface LeftOutPlace {
  /** Its path below the home; `*` matches any characters but a slash. */
  readonly path: string
  readonly why: string
}

/**
 * Entries of a home and of its `data` folder that backups leave out. An entry that is neither here nor among the
 * places that a backup contains is reported as skipped, so that a new file of the mesh is never lost silently.
 */
export const leftOutPlaces: readonly LeftOutPlace[] = [
  { path: 'backups', why: 'backups made from a page' },
  { path: 'logs', why: 'logs' },
  { path: 'run', why: 'locks, sockets and process ids of running processes' },
  { path: 'data/agents', why: 'the data of agents, which is an entry of its own' },
  { path: 'data/volumes', why: 'the data of agents, which is an entry of its own, and profiles of browsers' },
  { path: 'data/mesh.db', why: 'the database, which is an entry of its own' },
  { path: 'data/mesh.db-*', why: 'files that SQLite keeps beside an open database' },
  { path: 'data/mesh.db.before-*', why: 'copies of the database from before an upgrade' },
  { path: 'data/mesh.json', why: 'process, ports and version of the running mesh' },
  { path: 'data/mesh.log', why: 'logs' },
  { path: 'data/mesh.log.1', why: 'logs' },
  { path: 'data/briefs', why: 'bootstrap files, which the mesh writes at each start of an agent' },
  { path: 'data/cluster.json', why: 'the cluster of the agents; a restore chooses where they run' },
  { path: 'data/home-id', why: 'the id of the home; a restored home gets its own' },
  {
    path: 'data/inspection-authority.pem',
    why: 'the certificate authority of the home; a restored home makes its own, and its agents trust that one from their next start',
  },
  { path: 'data/mesh-secret.refused-*', why: 'secrets that flotilla journal begin-anew replaced' },
  { path: 'data/registries', why: 'sockets of proxies to package registries' },
  { path: 'data/restore-unfinished', why: 'the mark of an unfinished restore' },
  { path: 'data/typed-lines.json', why: 'lines that were typed into the terminal program' },
]

const patterns = leftOutPlaces.map(
  ({ path }) => new RegExp(`^${path.replaceAll('.', String.raw`\.`).replaceAll('*', '[^/]+')}$`),
)

/** Whether backups leave out the entry by choice. Pure. */
export function isLeftOutPlace(path: string): boolean {
  return patterns.some((pattern) => pattern.test(path))
}
