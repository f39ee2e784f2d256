import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import fastify from 'fastify'
import { Webhook } from 'standardwebhooks'
import { channelEndpoints } from '@flotilla/protocol/channels-api'
import { openDatabase } from '../packages/foundation/src/storage/database.ts'
import { aCassette, says } from '../tests/support/cassettes.ts'
import { httpCall } from '../tests/support/http-call.ts'
import { openLedger } from '../tests/support/ledger-view.ts'
import { startMesh } from '../tests/support/mesh-process.ts'
import type { MeshProcess } from '../tests/support/mesh-process.ts'
import { aWebhookPlatform } from '../tests/support/webhook-platform.ts'
import type { Bench, BenchOptions } from './bench.ts'
import { inParallel } from './fleet-mesh.ts'
import { median, percentile } from './statistics.ts'
import { figure } from './table.ts'

/** Number of conversations, each of another person with the bot. */
const conversations = 100
/** Number of concurrent connections, as many as a platform keeps open to one address. */
const together = 8
const agents = ['ada', 'ben', 'cleo', 'dan'] as const
const answer = 'It is done.'
const answersMaxMs = 300_000
const pollEveryMs = 20

const names = {
  row: 'a bare route with one durable row',
  alone: 'message in to its run row, one after the other',
  crowd: `the same, ${together} at once`,
  post: 'a bare signed post to the platform',
  outcome: 'end of the run to the platform that has it',
} as const
type Name = (typeof names)[keyof typeof names]
interface Measured {
  readonly p50: number
  readonly p99: number
}
type Platform = Awaited<ReturnType<typeof aWebhookPlatform>>

export const channelsBench: Bench = {
  name: 'channels',
  claim: `how long a message takes to become a run, and its outcome to be delivered, with ${conversations} conversations`,
  defaultRuns: 3,
  run: async (options) => {
    const all = new Map<Name, Measured[]>(Object.values(names).map((name) => [name, []]))
    const keep = (name: Name, times: readonly number[]) =>
      all.get(name)?.push({ p50: percentile(times, 50), p99: percentile(times, 99) })
    const platform = await aWebhookPlatform()
    const mesh = await startTalkingMesh(platform)
    try {
      for (let round = 0; round < options.runs && !options.signal.aborted; round += 1) {
        options.progress(`round ${round + 1} of ${options.runs}`)
        keep(names.row, await bareRows(platform, join(options.folder, `row-${round}.db`)))
        keep(names.post, await barePosts(platform))
        for (const [name, lines] of [
          [names.alone, 1],
          [names.crowd, together],
        ] as const) {
          const { heard, told } = await talk({
            platform,
            mesh,
            lines,
            round: `${round}-${lines}`,
            ...options,
          })
          keep(name, heard)
          if (lines === together) keep(names.outcome, told)
        }
      }
    } finally {
      await mesh.stop()
      await platform.close()
    }
    return {
      tables: [
        {
          title: `Channels: ${conversations} people in ${conversations} conversations with ${agents.length} agents`,
          columns: ['', 'p50, ms', 'p99, ms'],
          rows: [...all].map(([name, measured]) => [
            name,
            figure(median(measured.map(({ p50 }) => p50)), 2),
            figure(median(measured.map(({ p99 }) => p99)), 2),
          ]),
          notes: [
            'A whole mesh in a process of its own, its webhook channel signed both ways, agents as processes beside it that answer from a recording; they work on the messages before while those behind come in.',
            'A message is answered with 202 once its row, its run, its journal record and its event are one transaction that would survive a power cut. The end of a run is the time in its row, in whole milliseconds; the letter about it is written in the same transaction, and each piece is a row before it leaves and when the platform has it.',
            'The floors are in the process of the sender and do nothing else.',
          ],
        },
      ],
      figures: Object.fromEntries(all),
    }
  },
}

async function startTalkingMesh(platform: Platform): Promise<MeshProcess> {
  const mesh = await startMesh({
    cassettes: { talk: aCassette({ agents: [...agents], when: '.', turns: [says(answer)] }) },
    settings: { channels: { per_minute: 600, webhook: { url: platform.url } } },
    environment: { FLOTILLA_SYSTEM_CHANNEL_WEBHOOK_SECRET: platform.secret, FLOTILLA_LOG_LEVEL: 'warn' },
  })
  const people = Array.from({ length: conversations }, (_, n) => ({
    name: `p${n}`,
    role: 'owner',
    identities: [`webhook:bench:p${n}`],
  }))
  await writeFile(join(mesh.home, 'config', 'people.json'), JSON.stringify({ people }))
  for (const agent of agents) await mesh.createWorker(agent)
  const isKnown = async () => {
    const { channels } = (await mesh.call(channelEndpoints.channels)).json() as {
      channels: { name: string; people: number }[]
    }
    return channels.some(({ name, people: count }) => name === 'webhook' && count === conversations)
  }
  while (!(await isKnown())) await delay(pollEveryMs)
  return mesh
}

/** Each person sends one message; resolves when each has the answer. */
async function talk({
  platform,
  mesh,
  lines,
  round,
  signal,
}: Pick<BenchOptions, 'signal'> & {
  readonly platform: Platform
  readonly mesh: MeshProcess
  readonly lines: number
  readonly round: string
}): Promise<{ readonly heard: readonly number[]; readonly told: readonly number[] }> {
  const arrived = new Map<string, number>()
  platform.onEvent(async ({ conversation, text }) => {
    if (text.includes(answer) && !arrived.has(conversation)) arrived.set(conversation, Date.now())
  })
  const heard: number[] = []
  await inParallel(
    Array.from({ length: conversations }, (_, n) => n),
    lines,
    async (n) => {
      const text = `@${agents[n % agents.length]} how is it?`
      const said = { sender: `bench:p${n}`, conversation: `${round}-${n}`, text }
      const startedAt = performance.now()
      const { status } = await platform.deliver(mesh.url, `${round}-${n}`, said)
      if (status !== 202) throw new Error(`a message was answered with ${status}`)
      heard.push(performance.now() - startedAt)
    },
  )
  const end = Date.now() + answersMaxMs
  while (arrived.size < conversations) {
    if (Date.now() > end) throw new Error(`only ${arrived.size} of ${conversations} received the outcome`)
    await delay(pollEveryMs, undefined, { signal })
  }
  platform.onEvent(null)
  const ledger = openLedger(mesh.home)
  try {
    const told = [...arrived].map(([conversation, at]) => {
      const [run] = ledger.rows(
        'SELECT ended_at FROM runs WHERE id = (SELECT run_id FROM channel_messages WHERE message_id = ?)',
        conversation,
      )
      return at - Number(run?.['ended_at'])
    })
    return { heard, told }
  } finally {
    ledger.close()
  }
}

/** Measures a route that stores each message as one row and does nothing else. */
async function bareRows(platform: Platform, path: string): Promise<readonly number[]> {
  const database = openDatabase(path)
  database.exec('CREATE TABLE entry (text TEXT)')
  const server = fastify({ logger: false })
  server.post('/channel/webhook', async (request, reply) => {
    database.transaction(() =>
      database.prepare('INSERT INTO entry VALUES (?)').run(JSON.stringify(request.body)),
    )
    return reply.code(202).send({})
  })
  const url = await server.listen({ port: 0, host: '127.0.0.1' })
  const times: number[] = []
  try {
    for (let n = 0; n < conversations; n += 1) {
      const said = { sender: `bench:p${n}`, conversation: `floor-${n}`, text: '@ada how is it?' }
      const startedAt = performance.now()
      await platform.deliver(url, `floor-${n}`, said)
      times.push(performance.now() - startedAt)
    }
  } finally {
    await server.close()
    database.close()
  }
  return times
}

async function barePosts(platform: Platform): Promise<readonly number[]> {
  const signer = new Webhook(platform.secret)
  const times: number[] = []
  for (let n = 0; n < conversations; n += 1) {
    const id = `floor-${n}`
    const startedAt = performance.now()
    const body = JSON.stringify({
      type: 'message.sent',
      message_id: id,
      conversation: 'floor',
      text: `[ada] ${answer}`,
      buttons: [],
    })
    const at = new Date()
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': signer.sign(id, at, body),
    }
    await httpCall({ method: 'POST', url: platform.url, body, headers })
    times.push(performance.now() - startedAt)
  }
  return times
}
