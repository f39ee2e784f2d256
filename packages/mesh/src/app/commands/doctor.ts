import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { createServer } from 'node:net'
import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { meshInternalApi, meshInternalEndpoints } from '@flotilla/protocol/mesh-internal-api'
import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import {
  createFileEditor,
  dataPaths,
  defaultSettings,
  homeIdPath,
  readSettingsFile,
  readTextFile,
} from '@flotilla/foundation/config'
import type { DataPaths } from '@flotilla/foundation/config'
import {
  browserFindings,
  captchaFindings,
  channelFindings,
  credentialFinding,
  diskFinding,
  environmentFindings,
  failure,
  fileFindings,
  homeFinding,
  inspectionFindings,
  isolationFindings,
  modelFindings,
  ok,
  portHolder,
  warning,
} from '@flotilla/operations/diagnostics'
import type { DoctorFinding } from '@flotilla/operations/diagnostics'
import { presetModel, providerPresets } from '@flotilla/inference/models'
import { journalTrust, mayBeBare, secretPlaces } from '../open-journal.ts'
import { verifyJournal } from '@flotilla/foundation/journal'
import type { JournalVerdict } from '@flotilla/foundation/journal'
import { checkSums, differenceWords, utcDay } from '@flotilla/inference/spending'
import { silentLog, systemClock } from '@flotilla/foundation/platform'
import { finished } from '@flotilla/foundation/intake'
import { createPolicyFile } from '@flotilla/identity/policy'
import { createPermissionFile } from '@flotilla/identity/access'
import { openDatabase } from '@flotilla/foundation/storage'
import { readJobs } from '@flotilla/inbound/triggers/cron'
import { brokenWords, readWatchersFile } from '@flotilla/inbound/triggers/watch'
import { createVault, findMeshSecret, readBindings } from '@flotilla/egress/credentials'
import { askMesh } from './ask-mesh.ts'
import type { RunningMesh } from './ask-mesh.ts'
import type { CommandContext } from './command-context.ts'
import { triedProxies } from './try-proxies.ts'
import { groundFindings } from './ground-findings.ts'

/**
 * Checks everything that an owner can repair, changes nothing, and reports for each fault what to do. Findings are
 * printed as soon as they are known, and all together at the end.
 */
export async function doctor(context: CommandContext): Promise<number> {
  const paths = dataPaths(context.environment.home)
  const findings: object[] = []
  for await (const some of findingsOf(context, paths)) {
    const found = some.map((finding) => ({ ...finding, ok: finding.level === 'ok' }))
    findings.push(...found)
    context.print({ found })
  }
  context.print({ findings })
  return 0
}

async function* findingsOf(
  context: CommandContext,
  paths: DataPaths,
): AsyncGenerator<readonly DoctorFinding[], void, undefined> {
  const home = await homeFinding(paths)
  yield [home]
  if (home.level !== 'ok') return
  const running = await meshOf(paths)
  yield [ok('node', `Node ${process.version}`), ...(await fileFindings(paths)), await disk(paths)]
  yield await groundFindings(context, paths)
  yield [await port(context.environment.port, running), ...environmentFindings(context.environment)]
  // If the settings file is invalid, another check reports that.
  yield await triedProxies(context, await readSettingsFile(paths.settingsFile).catch(() => defaultSettings))
  yield await configuration(context, paths, running !== null)
  yield [await journal(paths, context), money(paths)]
  if (!running) {
    yield [ok('walls', 'the mesh is not running; the isolation checks run when it starts')]
    return
  }
  const homeId = (await readTextFile(homeIdPath(paths)))?.trim() ?? ''
  const mesh = { meshPort: running.port, homeId }
  yield [await ready(mesh)]
  yield await walls(mesh)
  yield [...(await browsers(mesh)), ...(await channels(mesh)), ...(await inspection(mesh))]
}

async function disk(paths: DataPaths): Promise<DoctorFinding> {
  const path = existsSync(paths.home) ? paths.home : '/'
  const { bavail, bsize } = await statfs(path)
  return diskFinding({ bytes: bavail * bsize, path })
}

async function port(portNumber: number, running: MeshState | null): Promise<DoctorFinding> {
  if (running) return ok('port', `the mesh answers on port ${running.port} (process ${running.pid})`)
  const free = await new Promise<boolean>((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(portNumber, '127.0.0.1', () => server.close(() => resolve(true)))
  })
  if (free) return ok('port', `port ${portNumber} is free`)
  const holder = await portHolder({ port: portNumber, host: '127.0.0.1' })
  const who = holder === null ? 'another program' : `process ${holder.pid} (${holder.name})`
  return failure(
    'port',
    `port ${portNumber} is used by ${who}`,
    'Stop that program, or choose another port: flotilla start --port NUMBER.',
  )
}

async function configuration(
  { environment, env }: CommandContext,
  paths: DataPaths,
  isRunning: boolean,
): Promise<readonly DoctorFinding[]> {
  const findings: DoctorFinding[] = []
  const settings = await readSettingsFile(paths.settingsFile).catch((error: unknown) => {
    findings.push(failure('settings-file', reason(error), 'Correct that line of config/settings.json.'))
    return defaultSettings
  })
  const vault = await createVault({ env, envFilePath: paths.envFile, editor: createFileEditor() }).catch(
    (error: unknown) => {
      findings.push(failure('env-file', reason(error), 'Correct that line of .env in the home.'))
      return null
    },
  )
  const systemNames = vault?.names().system ?? []
  const preset = presetModel({
    environment: environment.defaultModel,
    environmentFrom: environment.defaultModelFrom,
    settings,
    hasSystemCredential: (name) => systemNames.includes(name),
  })
  findings.push(
    ...modelFindings({
      settings,
      systemNames,
      defaultModel: preset,
      presets: Object.keys(providerPresets),
    }),
    credentialFinding({
      bound: [...readBindings(await readTextFile(paths.credentialsFile).catch(() => null)).bindings.keys()],
      known: vault?.names().agent ?? [],
    }),
    await permissions(paths),
    await policy(paths),
    await watchers(paths),
    await jobs(paths, isRunning),
  )
  return findings
}

async function permissions(paths: DataPaths): Promise<DoctorFinding> {
  const store = await createPermissionFile({
    path: paths.permissionsFile,
    editor: createFileEditor(),
    clock: systemClock,
    log: silentLog,
    onBroken: () => {},
  })
  const { broken } = store.snapshot()
  await store.close()
  if (broken === null) return ok('permissions-file', 'config/permissions.json is valid')
  if (!existsSync(paths.database))
    return ok('permissions-file', 'config/permissions.json does not exist yet; the first start creates it')
  return failure(
    'permissions-file',
    `all agents are denied everything, because the permission file is invalid: ${broken}`,
    'Correct that line of config/permissions.json, or restore the file from a backup. The mesh reads it again within a second.',
  )
}

async function policy(paths: DataPaths): Promise<DoctorFinding> {
  const store = await createPolicyFile({
    path: paths.policyFile,
    editor: createFileEditor(),
    clock: systemClock,
    log: silentLog,
    inSteps: async (work) => finished(work),
  })
  const { broken, rules, cases } = store.snapshot()
  await store.close()
  if (broken === null)
    return ok('policy-file', `config/policy.yaml has ${rules.length} rules and ${cases.length} cases`)
  return failure(
    'policy-file',
    `everything that agents do outside of their containers is denied, because the policy is invalid: ${broken}`,
    'Correct that line of config/policy.yaml. The mesh reads it again within a second.',
  )
}

async function watchers(paths: DataPaths): Promise<DoctorFinding> {
  try {
    const reading = await readWatchersFile(paths.watchersFile)
    if (reading.ok) return ok('watchers-file', `config/watchers.yaml has ${reading.rules.length} watchers`)
    return failure(
      'watchers-file',
      brokenWords(reading),
      'Correct that line of config/watchers.yaml; the mesh reads the file again within 5 seconds. flotilla watchers check shows which files match.',
    )
  } catch (error) {
    return failure(
      'watchers-file',
      reason(error),
      'Let the user that runs the mesh read config/watchers.yaml (chmod, chown).',
    )
  }
}

async function jobs({ cronFile, database }: DataPaths, isRunning: boolean): Promise<DoctorFinding> {
  try {
    const text = await readTextFile(cronFile)
    // A failed start may have created only the database; then the next start writes the file of jobs.
    if (text === null && !isRunning)
      return ok('cron-file', 'config/cron.json does not exist yet; the next start of the mesh creates it')
    // In a home that was started before, the file must contain the operator's heartbeat.
    const reading = readJobs(text, { held: null, required: existsSync(database) })
    if (reading.ok) return ok('cron-file', `config/cron.json has ${reading.jobs.length} jobs`)
    if (reading.otherwise) {
      return failure(
        'cron-file',
        `${reading.detail}; a running mesh continues with the previous jobs`,
        'Correct config/cron.json as described; the next start of the mesh does so automatically.',
      )
    }
    return failure(
      'cron-file',
      `${reading.detail}; a mesh that starts with this file runs no jobs`,
      'Correct that line of config/cron.json; the mesh reads the file again within 5 seconds.',
    )
  } catch (error) {
    return failure(
      'cron-file',
      reason(error),
      'Let the user that runs the mesh read config/cron.json (chmod, chown).',
    )
  }
}

async function journal(paths: DataPaths, { env }: CommandContext): Promise<DoctorFinding> {
  if (!existsSync(paths.database)) return ok('journal', 'the audit log does not exist yet')
  const database = openDatabase(paths.database)
  try {
    // For a home that was never started the secret is null, and only the hash chain is verified.
    const secret = await findMeshSecret(secretPlaces({ env, paths, database }))
    const verdict = verifyJournal(database, secret && journalTrust(paths, secret, mayBeBare(paths, database)))
    if (verdict.ok)
      return ok('journal', `the hash chain of ${verdict.rows} rows is intact${acceptedWords(verdict)}`)
    return failure(
      'journal',
      verdict.detail ?? 'the hash chain of the audit log is broken',
      'Something other than the mesh changed the audit log: compare it with a backup. To accept its current state: flotilla journal accept.',
    )
  } catch (error) {
    if (error instanceof Problem) return failure('journal', error.detail, error.repair)
    return failure(
      'journal',
      reason(error),
      'Start the mesh once with flotilla start -d, which updates the database.',
    )
  } finally {
    database.close()
  }
}

/** Checks the sums of money. Can run beside a mesh, because one SQLite snapshot contains both rows and sums. */
function money(paths: DataPaths): DoctorFinding {
  if (!existsSync(paths.database)) return ok('money', 'nothing has been spent yet')
  const database = openDatabase(paths.database)
  try {
    // A reading transaction blocks no other.
    database.exec('BEGIN')
    const difference = differenceWords(checkSums(database, utcDay(systemClock.now())))
    database.exec('ROLLBACK')
    if (difference === null) return ok('money', 'the sums of spent and reserved money match their rows')
    return failure(
      'money',
      difference,
      'Restart the mesh (flotilla stop, then flotilla start -d): it corrects the sums and records the corrections in the audit log as spend.corrected.',
    )
  } catch (error) {
    return failure(
      'money',
      reason(error),
      'Start the mesh once with flotilla start -d, which updates the database.',
    )
  } finally {
    database.close()
  }
}

function acceptedWords({ after, accepted }: JournalVerdict): string {
  if (!accepted) return ''
  const { by, at, was } = accepted
  return `; rows up to ${after ?? 0} were accepted by ${by} at ${new Date(at).toISOString()} (${was})`
}

const stateSchema = z.looseObject({ pid: z.number(), port: z.number() })
type MeshState = z.infer<typeof stateSchema>

/** Returns the mesh of this home, if its process is running; else null. */
async function meshOf(paths: DataPaths): Promise<MeshState | null> {
  const text = await readTextFile(paths.stateFile)
  if (text === null) return null
  const parsed = stateSchema.safeParse(JSON.parse(text))
  return parsed.success && existsSync(`/proc/${parsed.data.pid}`) ? parsed.data : null
}

/** Reports whether the mesh is ready, as the mesh itself says. */
async function ready(mesh: RunningMesh): Promise<DoctorFinding> {
  try {
    const reply = meshHumanApi.readyz.response.parse(await askMesh(mesh, meshHumanEndpoints.readyz))
    const stops = reply.problems.filter((problem) => problem.stops_agents === true)
    if (reply.ready) return ok('ready', 'the mesh is ready to run agents')
    const reasons = stops.map(({ id, detail }) => `${id}: ${detail}`).join('; ')
    return failure(
      'ready',
      `the mesh cannot run agents: ${reasons}`,
      'Repair what this finding names; the agents then continue automatically.',
    )
  } catch (error) {
    return failure(
      'ready',
      `the mesh did not report whether it can run agents: ${reason(error)}`,
      'Read the log of the mesh: flotilla logs.',
    )
  }
}

async function walls(mesh: RunningMesh): Promise<readonly DoctorFinding[]> {
  try {
    const reply = meshInternalApi.wallsVerify.response.parse(
      await askMesh(mesh, meshInternalEndpoints.wallsVerify),
    )
    const found = reply.walls.map(({ id, holds, detail }) =>
      holds
        ? ok(`wall-${id}`, detail)
        : failure(
            `wall-${id}`,
            detail,
            'No agent runs until this isolation check passes. Read the log of the mesh (flotilla logs), then repeat the check with flotilla walls.',
          ),
    )
    return [...found, ...isolationFindings(reply.rungs)]
  } catch (error) {
    const detail = `the mesh did not run its isolation checks: ${reason(error)}`
    return [failure('walls', detail, 'Read the log of the mesh: flotilla logs.')]
  }
}

/** Reports browsers of agents that failed; browsers that work give no finding. */
async function browsers(mesh: RunningMesh): Promise<readonly DoctorFinding[]> {
  return reported('browser', 'the state of its browsers', async () => {
    const asked = await askMesh(mesh, meshInternalEndpoints.browsersFailed)
    const reply = meshInternalApi.browsersFailed.response.parse(asked)
    return [...browserFindings(reply.browsers), ...captchaFindings(reply.captcha_solver)]
  })
}

async function channels(mesh: RunningMesh): Promise<readonly DoctorFinding[]> {
  return reported('channel', 'the state of its channels', async () => {
    const reply = await askMesh(mesh, meshInternalEndpoints.channelsTroubled)
    return channelFindings(meshInternalApi.channelsTroubled.response.parse(reply).channels)
  })
}

async function inspection(mesh: RunningMesh): Promise<readonly DoctorFinding[]> {
  return reported('inspection', 'its inspected hosts', async () => {
    const reply = await askMesh(mesh, meshInternalEndpoints.egressPinned)
    return inspectionFindings(meshInternalApi.egressPinned.response.parse(reply))
  })
}

/** Returns what the running mesh reports; a warning if it does not. */
async function reported(
  id: string,
  what: string,
  ask: () => Promise<readonly DoctorFinding[]>,
): Promise<readonly DoctorFinding[]> {
  try {
    return await ask()
  } catch (error) {
    const detail = `the mesh did not report ${what}: ${reason(error)}`
    return [warning(id, detail, 'Read the log of the mesh: flotilla logs.')]
  }
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
