import { join } from 'node:path'

/** Every path below the home folder; no other code builds one. Pure. */
export interface DataPaths {
  readonly home: string
  readonly envFile: string
  readonly configFolder: string
  readonly permissionsFile: string
  /** The hosts to which each credential may be sent; the values are in `.env`. */
  readonly credentialsFile: string
  readonly settingsFile: string
  /** The people with access to the people's API, and their roles. */
  readonly peopleFile: string
  /** The rules about effects of agents: allow, ask, deny. */
  readonly policyFile: string
  /** Lock files of the packages in agents' images, one for each list of packages. */
  readonly packageLocksFolder: string
  readonly cronFile: string
  readonly watchersFile: string
  readonly dataFolder: string
  readonly database: string
  /** Process, port and version of the mesh while it runs. */
  readonly stateFile: string
  /** The mesh's own secret, which seals the audit log and authenticates the mesh to its agents. */
  readonly meshSecret: string
  /** The key and the certificate of the authority that programs in containers trust for inspected hosts. */
  readonly inspectionAuthority: string
  /** The encrypted seed of the wallet. */
  readonly walletSeed: string
  /** The key that encrypts the wallet seed and nothing else. */
  readonly walletKey: string
  /** Checkpoints of the audit log, outside of the database. */
  readonly journalAnchors: string
  readonly artifactsFolder: string
  /** One read-only folder per agent with PROJECT.md and SYSTEM.md. */
  readonly briefsFolder: string
  /** The cluster in which the agents of this home run; absent if they never ran in one. */
  readonly clusterFile: string
  /** Volumes of agents under the `process` runtime. */
  readonly agentsFolder: string
  /** Images of agents' limited volumes, one file each. */
  readonly volumesFolder: string
  readonly runtimeFolder: string
  readonly logsFolder: string
  /** The log of a mesh that the command line started; its predecessor has the suffix `.1`. */
  readonly logFile: string
  /** Lines that a person typed into conversations of the terminal program; readable by that person only. */
  readonly typedLinesFile: string
  readonly lockFile: string
  /** A file that exists while a backup is restored into the home, whose content is then incomplete. */
  readonly restoreMark: string
  readonly pidFile: string
  readonly cassettesFolder: string
  readonly templatesFolder: string
}

/**
 * The folder of backups that were made from a page. It is not among the paths of a home, so that removing a home
 * keeps the backups from which it can be restored. Pure.
 */
export function backupsFolder(home: string): string {
  return join(home, 'backups')
}

export function dataPaths(home: string): DataPaths {
  const config = join(home, 'config')
  const data = join(home, 'data')
  const logs = join(home, 'logs')
  const runtime = join(home, 'run')
  return {
    home,
    envFile: join(home, '.env'),
    configFolder: config,
    permissionsFile: join(config, 'permissions.json'),
    credentialsFile: join(config, 'credentials.json'),
    settingsFile: join(config, 'settings.json'),
    peopleFile: join(config, 'people.json'),
    policyFile: join(config, 'policy.yaml'),
    packageLocksFolder: join(config, 'packages'),
    cronFile: join(config, 'cron.json'),
    watchersFile: join(config, 'watchers.yaml'),
    dataFolder: data,
    database: join(data, 'mesh.db'),
    stateFile: join(data, 'mesh.json'),
    meshSecret: join(data, 'mesh-secret'),
    inspectionAuthority: join(data, 'inspection-authority.pem'),
    walletSeed: join(data, 'wallet-seed'),
    walletKey: join(data, 'wallet-key'),
    journalAnchors: join(data, 'journal-anchors.jsonl'),
    typedLinesFile: join(data, 'typed-lines.json'),
    artifactsFolder: join(data, 'artifacts'),
    briefsFolder: join(data, 'briefs'),
    agentsFolder: join(data, 'agents'),
    clusterFile: join(data, 'cluster.json'),
    volumesFolder: join(data, 'volumes'),
    runtimeFolder: runtime,
    logsFolder: logs,
    logFile: join(data, 'mesh.log'),
    restoreMark: join(data, 'restore-unfinished'),
    lockFile: join(runtime, 'mesh.lock'),
    pidFile: join(runtime, 'mesh.pid'),
    cassettesFolder: join(home, 'cassettes'),
    templatesFolder: join(home, 'templates'),
  }
}
