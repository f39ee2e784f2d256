import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { DatabaseSync } from 'node:sqlite'
import type { FastifyInstance } from 'fastify'
import { fillPath } from '@flotilla/protocol/endpoint'
import type { Endpoint } from '@flotilla/protocol/endpoint'
import { headers as names } from '@flotilla/protocol/headers'
import { compose as composeMesh } from '../../packages/mesh/src/app/compose.ts'
import type { Composed } from '../../packages/mesh/src/app/compose.ts'
import { agentServer } from '../../packages/mesh/src/app/open-servers.ts'
import { dataPaths } from '../../packages/foundation/src/config/data-paths.ts'
import { readEnvironment } from '../../packages/foundation/src/config/environment.ts'
import { openHomeFolder } from '../../packages/foundation/src/config/home-folder.ts'
import { silentLog } from '../../packages/foundation/src/platform/log.ts'
import { permissionRecordSchema } from '../../packages/protocol/src/permission-record.ts'
import { repositoryRoot } from './mesh-process.ts'
import { addDoorToken } from './own-token.ts'
import { runUntilCut } from './power-cut.ts'

export interface ApiCall {
  readonly endpoint: Endpoint
  readonly params?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface ApiReply {
  readonly status: number
  readonly body: Record<string, unknown>
}

/** A home in which each agent executes a run, behind the real agent API without sandboxes. */
export interface PowerCutHome {
  readonly home: string
  /**
   * Runs one mesh process on this home, composed as in production, with one call under this idempotency key, and
   * removes it. The reply is null if the power cut came before it. `passed` is the number of boundaries that the
   * call passed.
   */
  runOnce(
    caller: string,
    call: ApiCall,
    cut?: { readonly endsAt?: number; readonly key?: string },
  ): Promise<{ readonly reply: ApiReply | null; readonly passed: number }>
  /** Runs one mesh process in which the test can use the composed parts. */
  with<T>(work: (parts: Composed) => Promise<T> | T): Promise<T>
  rows(sql: string): Record<string, unknown>[]
  /** Copies this home in its present state. */
  fork(): Promise<PowerCutHome>
  close(): Promise<void>
}

export const owner = { kind: 'human', role: 'owner', channel: 'cli' } as const
export const runOf = (agentId: string): string => `run_${agentId.padEnd(16, '0').slice(0, 16)}`

export async function aPowerCutHome(
  workers: readonly string[],
  settings: object = {},
): Promise<PowerCutHome> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-cut-'))
  const tokens = new Map<string, string>()
  const home = openHome(folder, tokens)
  const paths = dataPaths(folder)
  await openHomeFolder(paths)
  await writeFile(paths.settingsFile, JSON.stringify({ default_model: 'scripted/none', ...settings }))
  await home.with(async (parts) => {
    await parts.contexts.fleet.agents.lifecycle.ensureOperator()
    for (const id of workers)
      await parts.contexts.fleet.agents.admin.create(owner, { id, role: 'works', heartbeat: null })
    await parts.access.permissions.edit((records) =>
      Object.fromEntries(
        Object.entries(records).map(([id, record]) => [
          id,
          id === 'operator' ? record : permissionRecordSchema.parse({ ...record, ...wide }),
        ]),
      ),
    )
    for (const id of ['operator', ...workers])
      parts.contexts.work.runs.queue.submitRun(owner, {
        agentId: id,
        input: { kind: 'chat', message: 'work', session: 's' },
      })
  })
  const database = new DatabaseSync(paths.database)
  for (const id of ['operator', ...workers]) {
    database
      .prepare(
        "UPDATE runs SET id = ?, state = 'running', fence = 1, lease_until = 9000000000000000 WHERE agent_id = ? AND state = 'queued'",
      )
      .run(runOf(id), id)
    tokens.set(id, addDoorToken(folder, id))
  }
  database.close()
  return home
}

function openHome(home: string, tokens: ReadonlyMap<string, string>): PowerCutHome {
  const paths = dataPaths(home)

  async function compose(): Promise<Composed> {
    const environment = readEnvironment({ FLOTILLA_HOME: home, FLOTILLA_RUNTIME: 'process' })
    const context = {
      environment,
      env: { PATH: process.env['PATH'] },
      print: () => {},
      stopped: new AbortController().signal,
      uid: process.getuid?.() ?? -1,
      pid: process.pid,
      program: [process.execPath] as const,
      repositoryRoot,
    }
    const opened = await openHomeFolder(paths)
    const parts = await composeMesh({ context, home: opened, paths, log: silentLog, fence: null })
    // The mesh opens no network before it knows which networks are its own.
    await parts.contexts.egress.modules.egress.prepare?.()
    return parts
  }

  async function shut(parts: Composed): Promise<void> {
    const { models } = parts.contexts.inference.modules
    const { credentials } = parts.contexts.egress.modules
    // Closes only the parts that poll files. Closing others would wait for work that the power cut interrupted,
    // which never ends.
    await Promise.allSettled([
      models.close?.(),
      credentials.close?.(),
      parts.access.permissions.close(),
      parts.foundation.settingsFile.close(),
    ])
    parts.kernel.database.close()
  }

  async function using<T>(work: (parts: Composed) => Promise<T> | T): Promise<T> {
    const parts = await compose()
    try {
      return await work(parts)
    } finally {
      await shut(parts)
    }
  }

  function rows(sql: string): Record<string, unknown>[] {
    const database = new DatabaseSync(paths.database)
    try {
      return database
        .prepare(sql)
        .all()
        .map((row) => ({ ...row }))
    } finally {
      database.close()
    }
  }

  return {
    home,
    rows,
    with: using,
    async runOnce(caller, call, { endsAt, key = 'key' } = {}) {
      const parts = await compose()
      const server = agentServer(parts)
      await server.ready()
      try {
        const { cut, result } = await runUntilCut(endsAt ?? null, () =>
          send(server, call, {
            authorization: `Bearer ${tokens.get(caller) ?? ''}`,
            [names.runId]: runOf(caller),
            [names.runFence]: '1',
            [names.idempotencyKey]: key,
          }),
        )
        return { reply: result, passed: cut.passed }
      } finally {
        await shut(parts)
      }
    },
    async fork() {
      const copy = await mkdtemp(join(tmpdir(), 'flotilla-cut-'))
      await cp(home, copy, { recursive: true })
      return openHome(copy, tokens)
    },
    close: () => rm(home, { recursive: true, force: true, maxRetries: 5 }),
  }
}

/** Returns every route of the agent API as `METHOD /path`, with `{}` for each path parameter. */
export async function agentApiRoutes(parts: Composed): Promise<string[]> {
  const server = agentServer(parts)
  await server.ready()
  const above: string[] = []
  // Without common prefixes, routes that end with a wildcard are joined.
  return server
    .printRoutes()
    .split('\n')
    .flatMap((line) => {
      const found = /^((?:│ {3}| {4})*)[├└]── (\S+)(?: \(([A-Z, ]+)\))?$/.exec(line)
      if (!found) return []
      const depth = (found[1] ?? '').length / 4
      above.splice(depth, above.length, found[2] ?? '')
      const path = above.join('')
      const methods = (found[3] ?? '').split(', ').filter((method) => method !== '')
      return methods.map((method) => `${method} ${path.replace(/:\w+|\*/g, '{}')}`)
    })
}

export function routeOf({ method, path }: Endpoint): string {
  return `${method} ${path.replace(/\{[^}]*\}/g, '{}')}`
}

async function send(
  server: FastifyInstance,
  { endpoint, params = {}, body }: ApiCall,
  headers: Record<string, string>,
): Promise<ApiReply> {
  const reply = await server.inject({
    method: endpoint.method,
    url: fillPath(endpoint.path, params),
    headers,
    ...(body === undefined ? {} : { payload: body as object }),
  })
  return { status: reply.statusCode, body: reply.json<Record<string, unknown>>() }
}

/** A worker with every permission, so that only the power cut can stop the call. */
const wide = {
  blackboard_read: ['*'],
  blackboard_write: ['*'],
  can_message: ['*'],
  can_route_tasks: true,
  can_publish: ['*'],
  can_subscribe: ['*'],
  can_manage_cron: true,
  can_spawn: true,
  allowed_credentials: ['*'],
  allowed_apis: ['*'],
}
