import { createHmac, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { openPublic } from '../packages/identity/src/http/open-surfaces.ts'
import { createServer } from '../packages/identity/src/http/server.ts'
import { webhookPublicRoutes } from '../packages/inbound/src/triggers/webhook/public.routes.ts'
import { silentLog } from '../packages/foundation/src/platform/log.ts'
import { aLedgerHarness, person } from '../packages/testing/src/ledger-harness.ts'
import { allMigrations } from '../packages/foundation/src/storage/migrations/all-migrations.ts'
import { openDatabase } from '../packages/foundation/src/storage/database.ts'
import { migrate } from '../packages/foundation/src/storage/migrate.ts'
import { randomId, systemClock } from '../packages/foundation/src/platform/system-clock.ts'
import { createWebhooks } from '../packages/inbound/src/triggers/webhook/webhooks.ts'
import { createSecret } from '../packages/egress/src/credentials/secret.ts'
import type { Bench, BenchOptions } from './bench.ts'
import { rotated } from './bench.ts'
import { openLine } from './http-line.ts'
import { median, pairedRatio, percentile } from './statistics.ts'
import { figure, ratio } from './table.ts'

/** An agent queues at most 100 runs, so each agent gets fewer deliveries, and there are enough agents. */
const deliveriesPerAgent = 90
const agents = 12
const parallel = 8
const names = {
  bare: 'a bare Fastify route',
  row: 'the same with one durable row',
  ours: 'signed webhook to its run row',
} as const
type Name = (typeof names)[keyof typeof names]

interface Contender {
  readonly server: FastifyInstance
  /** Complete requests, all different. */
  readonly requests: readonly { readonly path: string; readonly body: string; readonly headers: string }[]
}

export const webhooksBench: Bench = {
  name: 'webhooks',
  claim: 'what it costs to take a signed webhook until its run is a durable row',
  defaultRuns: 5,
  run: async ({ runs, folder, progress, signal }: BenchOptions) => {
    const all: Record<Name, Measured[]> = { [names.bare]: [], [names.row]: [], [names.ours]: [] }
    for (let round = 0; round < runs && !signal.aborted; round += 1) {
      progress(`round ${round + 1} of ${runs}`)
      for (const name of rotated(Object.values(names), round)) {
        all[name].push(await measure(await contender(name, join(folder, `${name}-${round}.db`))))
      }
    }
    const floor = all[names.bare].map(({ perSecond }) => perSecond)
    return {
      tables: [
        {
          title: 'Webhooks: from the first byte of a request to its answer',
          columns: ['', 'p50, ms', 'p99, ms', `a second, ${parallel} at once`, 'of the bare route'],
          rows: Object.entries(all).map(([name, measured]) => [
            name,
            figure(median(measured.map(({ p50 }) => p50)), 2),
            figure(median(measured.map(({ p99 }) => p99)), 2),
            figure(median(measured.map(({ perSecond }) => perSecond)), 0),
            ratio(
              pairedRatio(
                measured.map(({ perSecond }) => perSecond),
                floor,
              ),
            ),
          ]),
          notes: [
            'The sender runs in the same process. Each delivery is checked, known to be new, and written with its run, its journal record and its event in one transaction that would survive a power cut.',
          ],
        },
      ],
      figures: { ...all },
    }
  },
}

interface Measured {
  readonly p50: number
  readonly p99: number
  readonly perSecond: number
}

/** Sends the first half one after the other, to measure times, and the second half at once, to measure the rate. */
async function measure({ server, requests }: Contender): Promise<Measured> {
  await server.listen({ port: 0, host: '127.0.0.1' })
  const address = server.server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const bytes = requests.map(({ path, body, headers }) =>
    Buffer.from(
      `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    ),
  )
  const half = Math.floor(bytes.length / 2)
  const times: number[] = []
  const send = async (queue: Buffer[], heard: (ms: number) => void) => {
    const line = await openLine('127.0.0.1', port)
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { status, totalMs, tail } = await line.exchange(next)
      if (status !== 202) throw new Error(`HTTP ${status}: ${tail}`)
      heard(totalMs)
    }
    line.close()
  }
  try {
    await send(bytes.slice(0, half), (ms) => times.push(ms))
    const rest = bytes.slice(half)
    const startedAt = performance.now()
    await Promise.all(Array.from({ length: parallel }, () => send(rest, () => {})))
    const perSecond = ((bytes.length - half) * 1000) / (performance.now() - startedAt)
    return { p50: percentile(times, 50), p99: percentile(times, 99), perSecond }
  } finally {
    await server.close()
  }
}

const bodies = Array.from({ length: agents * deliveriesPerAgent }, (_, at) =>
  JSON.stringify({
    action: 'opened',
    number: at,
    repository: { full_name: 'acme/site' },
    text: 'x'.repeat(1500),
  }),
)

async function contender(name: Name, path: string): Promise<Contender> {
  if (name === names.ours) return ours(path)
  const server = fastify({ logger: false })
  const plain = bodies.map((body) => ({ path: '/hook', body, headers: '' }))
  if (name === names.bare) {
    server.post('/hook', async (_request, reply) => reply.code(202).send({ status: 'accepted' }))
    return { server, requests: plain }
  }
  const database = openDatabase(path)
  database.exec('CREATE TABLE entry (text TEXT)')
  server.post('/hook', async (request, reply) => {
    database.transaction(() =>
      database.prepare('INSERT INTO entry VALUES (?)').run(JSON.stringify(request.body)),
    )
    return reply.code(202).send({ status: 'accepted' })
  })
  server.addHook('onClose', async () => database.close())
  return { server, requests: plain }
}

async function ours(path: string): Promise<Contender> {
  const database = openDatabase(path)
  migrate(database, allMigrations)
  const world = aLedgerHarness({ database, newId: randomId })
  const secrets = new Map<string, ReturnType<typeof createSecret>>()
  const webhooks = createWebhooks({
    ...world,
    log: silentLog,
    vault: {
      system: (name) => secrets.get(name),
      names: () => ({ system: [...secrets.keys()], agent: [] }),
      storeSystem: async (name, value) => void secrets.set(name, createSecret(name, value)),
      removeSystem: async (name) => void secrets.delete(name),
    },
    submitRun: world.ledger.queue.submitRun,
    requireAgent: () => {},
    perMinute: () => 10_000,
    randomBytes,
  })
  const hooks = await Promise.all(
    Array.from({ length: agents }, (_, at) =>
      webhooks.manage.create(person, {
        name: `hook ${at}`,
        agentId: `agent-${at}`,
        instructions: '',
        when: null,
        perMinute: null,
        signed: true,
      }),
    ),
  )
  const server = createServer(silentLog)
  const { receive } = webhooks
  openPublic(server, [
    { routes: { public: (surface) => webhookPublicRoutes(surface, { receive, clock: systemClock }) } },
  ])
  server.addHook('onClose', async () => {
    await world.ledger.close()
    database.close()
  })
  const requests = bodies.map((body, at) => {
    const { hook, secret } = hooks[at % agents] ?? { hook: { id: '' }, secret: '' }
    const signature = createHmac('sha256', secret ?? '')
      .update(body)
      .digest('hex')
    return { path: `/webhook/hook/${hook.id}`, body, headers: `x-webhook-signature: ${signature}\r\n` }
  })
  return { server, requests }
}
