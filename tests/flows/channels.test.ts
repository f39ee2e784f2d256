import { existsSync } from 'node:fs'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { channelEndpoints, channelsApi } from '@flotilla/protocol/channels-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { channelLimits } from '../../packages/inbound/src/channels/channel-limits.ts'
import { aCassette, calls, operatorHandsOff, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { openLedger } from '../support/ledger-view.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { aWebhookPlatform } from '../support/webhook-platform.ts'

const isSoak = process.env['FLOTILLA_SOAK'] === '1'
const preload = pathToFileURL(join(repositoryRoot, 'tests', 'support', 'kill-at-row.mjs')).href
const answer = 'The report is written.'
/** Allowed messages of one person in a minute. */
const perMinute = 100
const tells = 'the disk is nearly full'
const cassette = aCassette(
  ...operatorHandsOff({ when: '^sort', to: 'clerk', title: 'Sort it', answer: 'It is sorted.' }),
  { agents: ['clerk'], when: 'Sort it', turns: [calls('complete_task', { summary: 'Sorted.' })] },
  {
    agent_kind: 'operator',
    when: '^remove',
    turns: [calls('delete_agent', { agent_id: 'clerk', reason: 'a try' }), says('It waits for you.')],
  },
  {
    agents: ['clerk'],
    when: '^tell',
    turns: [calls('notify_user', { message: tells }), says('You are told.')],
  },
  { agents: ['clerk'], when: '^report', turns: [says(answer)] },
)

let platform: Awaited<ReturnType<typeof aWebhookPlatform>>
let mesh: MeshProcess
let arm: string

beforeAll(async () => {
  platform = await aWebhookPlatform()
  arm = join(await mkdtemp(join(tmpdir(), 'arm-')), 'armed')
  mesh = await startMesh({
    cassettes: { channels: cassette },
    settings: {
      channels: { per_minute: perMinute, webhook: { url: platform.url } },
      providers: { dear: { kind: 'openai-compatible', base_url: 'http://127.0.0.1:9/v1' } },
      models: { 'dear/one': { price: { input_per_mtok: 1000, output_per_mtok: 1000 } } },
    },
    environment: {
      FLOTILLA_SYSTEM_CHANNEL_WEBHOOK_SECRET: platform.secret,
      NODE_OPTIONS: `--import=${preload}`,
      KILL_WHEN_ARMED: arm,
    },
  })
  await mesh.createWorker('clerk')
})
afterAll(async () => {
  await mesh?.stop()
  await platform?.close()
})

const home = () => ({ url: mesh.url, home: mesh.home })

/** Sends as the webhook standard requires: repeatedly, until the delivery is accepted. */
async function say(id: string, said: object): Promise<void> {
  await eventually(`${id} is taken`, async () => {
    const reply = await platform.deliver(mesh.url, id, said).catch(() => null)
    return reply !== null && reply.status === 202
  })
}

/** Restarts the mesh where it was killed. */
async function restartOnceKilled(): Promise<void> {
  await eventually('the mesh is killed', () => !existsSync(arm))
  await mesh.kill9().catch(() => undefined)
  await mesh.restart()
}

describe('a channel', () => {
  it('a channel is listed with its state, pairs by a code from the terminal, and rejects unknown accounts', async () => {
    const reply = await mesh.call(channelEndpoints.channels)
    expect(channelsApi.channels.response.parse(reply.json()).channels).toContainEqual({
      name: 'webhook',
      state: 'connected',
      detail: '',
      repair: '',
      people: 0,
      linked: [],
      pairing: null,
      credentials: [{ name: 'channel_webhook_secret', kept: 'environment' }],
      waiting: 0,
    })
    expect(await flotilla(home(), 'channels')).toMatchObject({
      code: 0,
      out: expect.stringContaining('connected'),
    })
    await say('stranger-1', { conversation: 'first', text: 'hello' })
    await say('stranger-2', { conversation: 'first', text: 'hello?' })
    await eventually('the stranger is told', () => platform.in('first').length > 0)
    expect(platform.in('first').map(({ text }) => text)).toEqual([
      expect.stringContaining('flotilla people link NAME webhook:intranet:ann'),
    ])
    const printed = await flotilla(home(), 'channels', 'pair', 'webhook')
    const code = /^[A-Z2-9]{8}$/m.exec(printed.out)?.[0] ?? ''
    await say('pairing', { conversation: 'first', text: code })
    await eventually('the owner is known', () =>
      platform.in('first').some(({ text }) => text.includes('You are owner')),
    )
    expect((await flotilla(home(), 'people')).out).toContain('webhook:intranet:ann')
  })

  it('a channel answers in the conversation of the question, as that person, and marks the outcome as delivered', async () => {
    await say('use', { conversation: 'second', text: '/use clerk' })
    await say('ask', { conversation: 'second', text: 'report to me' })
    await eventually('the answer is shown', () =>
      platform.in('second').some(({ text }) => text.includes(answer)),
    )
    const ledger = openLedger(mesh.home)
    try {
      const [run] = ledger.rows(
        "SELECT id, origin FROM runs WHERE json_extract(origin, '$.channel') = 'webhook'",
      )
      expect(JSON.parse(String(run?.['origin']))).toMatchObject({
        kind: 'human',
        channel: 'webhook',
        user: 'owner',
      })
      await eventually('the note is delivered', () => {
        const [note] = ledger.rows('SELECT state FROM outbox WHERE run_id = ?', String(run?.['id']))
        return note?.['state'] === 'delivered'
      })
    } finally {
      ledger.close()
    }
  })

  it('a channel takes nothing that is not signed, and is nothing where it is off', async () => {
    const forged = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }
    expect((await fetch(`${mesh.url}/channel/webhook`, forged)).status).toBe(401)
    expect((await fetch(`${mesh.url}/channel/telegram`, forged)).status).toBe(404)
    expect((await fetch(`${mesh.url}/channel/__proto__`, forged)).status).toBe(404)
  })
})

describe('what an owner is told unasked', () => {
  const conversation = 'unasked'
  const run = (...words: string[]) => flotilla(home(), ...words)
  const told = (words: string) => platform.in(conversation).filter(({ text }) => text.includes(words)).length

  it('an unsolicited notice to the owner comes where they speak alone with the bot, each once: notes, what waits, hand-offs and budgets', async () => {
    expect(await run('channels', 'notices', '--to', 'webhook')).toMatchObject({ code: 0 })
    for (const count of [1, 2]) {
      await say(`tell-${count}`, { conversation, text: '@clerk tell me' })
      await eventually(`${count} are over`, () => told('You are told') === count)
    }
    for (const text of ['remove', 'sort']) await say(text, { conversation, text: `@operator ${text}` })
    await eventually('what waits is told', () => told('operator asks: delete agent clerk') === 1)
    await eventually('the hand-off is told', () => told('clerk: "Sort it" is done.') === 1)
    // The first call may cost more than the agent's budget.
    await mesh.createWorker('poor', { model: 'dear/one', budget: { daily_usd: 0.01, monthly_usd: 1 } })
    await say('poor', { conversation, text: '@poor go' })
    await eventually('the budget is told', () => told('The agent poor has spent USD 0.00 of USD 0.01') > 0)
    expect(told('the rest is too small for the next model call')).toBeGreaterThan(0)
    expect(told(tells)).toBe(1)
    expect(await run('channels', 'notices', '--to', 'none')).toMatchObject({ code: 0 })
  })
})

describe('many people at once', () => {
  const people = Array.from({ length: 30 }, (_one, n) => `webhook:intranet:p${n}`)
  const senderOf = (identity: string) => identity.slice('webhook:'.length)
  const runsOf = (ledger: ReturnType<typeof openLedger>, person: string) =>
    ledger.rows('SELECT created_at, ended_at FROM channel_runs WHERE person = ? ORDER BY created_at', person)

  beforeAll(async () => {
    const path = join(mesh.home, 'config', 'people.json')
    const written = await readFile(path, 'utf8')
    const { people: known } = JSON.parse(written) as { people: object[] }
    const others = people.map((identity, n) => ({ name: `p${n}`, role: 'owner', identities: [identity] }))
    await writeFile(path, JSON.stringify({ people: [...known, ...others] }))
    await eventually('all are known', async () => {
      const { channels } = channelsApi.channels.response.parse(
        (await mesh.call(channelEndpoints.channels)).json(),
      )
      return channels.some(({ name, people: count }) => name === 'webhook' && count === people.length + 1)
    })
  })

  it('thirty people who write at once are each answered, while one of them writes forty further messages', async () => {
    const flood = Array.from({ length: 40 }, (_one, n) => ({
      sender: 'intranet:p0',
      conversation: 'flood',
      n,
    }))
    const said = people.map((identity, n) => ({ sender: senderOf(identity), conversation: `crowd ${n}`, n }))
    // The person with many messages sends first.
    const replies = await Promise.all(
      [...flood, ...said].map(({ sender, conversation, n }) =>
        platform.deliver(mesh.url, `${conversation}-${n}`, { sender, conversation, text: '@clerk report' }),
      ),
    )
    expect(replies.filter(({ status }) => status !== 202)).toEqual([])
    const isAnswered = ({ conversation }: { conversation: string }) =>
      platform.in(conversation).some(({ text }) => text.includes(answer))
    // All people but the flooding one, who has more waiting messages than one person may have.
    await eventually('each is answered', () => said.slice(1).every(isAnswered))
    const ledger = openLedger(mesh.home)
    try {
      await eventually('nothing is under way', () =>
        runsOf(ledger, 'p0').every(({ ended_at: end }) => end !== null),
      )
      const own = runsOf(ledger, 'p0')
      const openAt = (moment: number) =>
        own.filter(({ created_at: from, ended_at: to }) => Number(from) <= moment && Number(to) > moment)
          .length
      expect(Math.max(...own.map(({ created_at: at }) => openAt(Number(at))))).toBeLessThanOrEqual(
        channelLimits.openRunsPerPersonMax,
      )
      for (let n = 1; n < people.length; n++) expect(runsOf(ledger, `p${n}`)).toHaveLength(1)
    } finally {
      ledger.close()
    }
    // Each rejected message was answered with a text.
    const told = () => [...platform.in('flood'), ...platform.in('crowd 0')]
    await eventually('all is told', () => told().length === flood.length + 1)
    expect(
      told().filter(({ text }) => !text.includes(answer) && !text.includes('accepts no more messages now')),
    ).toEqual([])
  })

  it('many messages at once, of strangers and of one person, fill no lane, and none of the others’ is lost', async () => {
    const all: { readonly sender: string; readonly conversation: string; readonly text: string }[] = []
    const each = isSoak ? 500 : 150
    for (let n = 0; n < each; n++) {
      all.push({ sender: `intranet:stranger${n}`, conversation: `stranger ${n}`, text: '@clerk report' })
      all.push({ sender: 'intranet:p0', conversation: 'thousand', text: '@clerk report' })
      if (n % 30 === 15) {
        all.push({
          sender: `intranet:p${(n + 15) / 30}`,
          conversation: `rightful ${n}`,
          text: '@clerk report',
        })
      }
    }
    const rightful = all.map(({ conversation }) => conversation).filter((one) => one.startsWith('rightful'))
    let next = 0
    const statuses = new Map<number, number>()
    const line = async () => {
      for (let at = next++; at < all.length; at = next++) {
        const { status } = await platform.deliver(mesh.url, `thousands-${at}`, all[at] ?? {})
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: 50 }, line))
    expect([...statuses]).toEqual([[202, all.length]])
    await eventually('each of the others is answered', () =>
      rightful.every((one) => platform.in(one).some(({ text }) => text.includes(answer))),
    )
    expect(
      platform.shown.filter(({ conversation }) => conversation.startsWith('stranger')).length,
    ).toBeLessThanOrEqual(channelLimits.strangersAnsweredPerMinute)
    const ledger = openLedger(mesh.home)
    try {
      const count = (where: string) =>
        ledger.rows(
          `SELECT message_id FROM channel_messages WHERE message_id LIKE 'thousands-%' AND ${where}`,
        ).length
      expect(count("became = 'run' AND sender_id LIKE 'intranet:stranger%'")).toBe(0)
      // Up to the limit of one minute, each message is recorded, answered or refused; further ones leave no row.
      expect(count("sender_id = 'intranet:p0'")).toBeLessThanOrEqual(perMinute + 1)
      expect(count('TRUE')).toBeLessThanOrEqual(
        perMinute + 1 + channelLimits.strangersAnsweredPerMinute + rightful.length,
      )
      await eventually(
        'nothing is to be told any more',
        () => ledger.rows("SELECT id FROM channel_letters WHERE state = 'open'").length === 0,
      )
    } finally {
      ledger.close()
    }
  })
})

describe('a mesh that is killed between any two steps', () => {
  const messageRow = 'INSERT OR IGNORE INTO channel_messages'
  const letterRow = 'INSERT OR IGNORE INTO channel_letters'
  const begun = 'UPDATE channel_letters SET begun_piece = ?, attempts'
  const out = 'UPDATE channel_letters SET pieces_out'
  const settled = 'UPDATE channel_letters SET state'
  const delivered = "UPDATE outbox SET state = 'delivered'"

  const moments = [
    ['received, and no row written', `before ${messageRow}`],
    ['the row written, and not acknowledged', `after ${messageRow}`],
    ['answered, and no letter written', `before ${letterRow}`],
    ['the letter written, and nothing sent', `after ${letterRow}`],
    ['a piece begun, and not sent', `after ${begun}`],
    ['sent, and not written that it is', `before ${out}`],
    ['written that it is sent, and not settled', `after ${out}`],
    ['settled, and the outcome not marked', `before ${delivered}`],
    ['marked, and not committed', `before ${settled}`],
    ['all over', `after ${settled}`],
  ] as const
  /** Before and after a row of an incoming message, and of each row that is written for a delivery. */
  const some = [
    'the row written, and not acknowledged',
    'answered, and no letter written',
    'a piece begun, and not sent',
    'settled, and the outcome not marked',
  ]

  it.each(moments.filter(([step]) => isSoak || some.includes(step)))(
    '%s: the answer is there once',
    async (step, moment) => {
      const conversation = step
      await writeFile(arm, moment)
      const saying = say(step.replaceAll(' ', '-'), { conversation, text: '@clerk report again' })
      await restartOnceKilled()
      await saying
      const answers = () => platform.in(conversation).filter(({ text }) => text.includes(answer))
      await eventually('the answer is shown', () => answers().length > 0)
      const ledger = openLedger(mesh.home)
      try {
        await eventually(
          'nothing is to be told any more',
          () => ledger.rows("SELECT id FROM channel_letters WHERE state = 'open'").length === 0,
        )
        const rows = ledger.rows(
          'SELECT run_id FROM channel_messages WHERE message_id = ?',
          step.replaceAll(' ', '-'),
        )
        expect(rows).toHaveLength(1)
        expect(
          ledger.rows(
            'SELECT run_id FROM channel_runs WHERE json_extract(place, ?) = ?',
            '$.conversationId',
            conversation,
          ),
        ).toEqual(rows)
        expect(
          ledger.rows('SELECT state FROM outbox WHERE run_id = ?', String(rows[0]?.['run_id'])),
        ).toMatchObject([{ state: 'delivered' }])
      } finally {
        ledger.close()
      }
      expect(platform.in(conversation).map(({ text }) => text)).toEqual([expect.stringContaining(answer)])
    },
  )

  it('a mesh that is killed between any two steps while the platform answers: what it has already is not shown twice', async () => {
    let killed = false
    platform.onEvent(async ({ conversation }) => {
      if (conversation !== 'held' || killed) return
      killed = true
      await mesh.kill9()
    })
    await say('held', { conversation: 'held', text: '@clerk report once more' })
    await eventually('the mesh is killed', () => killed)
    platform.onEvent(null)
    await mesh.kill9().catch(() => undefined)
    await mesh.restart()
    const ledger = openLedger(mesh.home)
    try {
      await eventually(
        'the letter is settled',
        () => ledger.rows("SELECT id FROM channel_letters WHERE state = 'open'").length === 0,
      )
    } finally {
      ledger.close()
    }
    expect(platform.in('held').map(({ text }) => text)).toEqual([expect.stringContaining(answer)])
  })
})
