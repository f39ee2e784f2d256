import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { channelEndpoints, channelsApi } from '@flotilla/protocol/channels-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { channelLimits } from '../../packages/inbound/src/channels/channel-limits.ts'
import { aCassette, calls, operatorHandsOff, says } from '../support/cassettes.ts'
import { startChannelMesh } from '../support/channel-mesh.ts'
import type { ChannelMesh } from '../support/channel-mesh.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { openLedger } from '../support/ledger-view.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

const isSoak = process.env['FLOTILLA_SOAK'] === '1'
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

let fleet: ChannelMesh
let mesh: MeshProcess
let platform: ChannelMesh['platform']
let say: ChannelMesh['say']

beforeAll(async () => {
  fleet = await startChannelMesh({
    cassettes: { channels: cassette },
    channels: { per_minute: perMinute },
    settings: {
      providers: { dear: { kind: 'openai-compatible', base_url: 'http://127.0.0.1:9/v1' } },
      models: { 'dear/one': { price: { input_per_mtok: 1000, output_per_mtok: 1000 } } },
    },
  })
  ;({ mesh, platform, say } = fleet)
})
afterAll(() => fleet?.stop())

const home = () => ({ url: mesh.url, home: mesh.home })

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
    await fleet.pair('first')
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
      await fleet.allDelivered()
    } finally {
      ledger.close()
    }
  })
})
