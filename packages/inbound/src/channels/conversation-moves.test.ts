import { afterEach, describe, expect, test } from 'vitest'
import { aChannelHarness } from '../../../testing/src/channel-harness.ts'
import type { ChannelHarnessOptions } from '../../../testing/src/channel-harness.ts'
import { aReceived, createFakeAdapter } from '../../../testing/src/fake-channel.ts'
import type { FakeChannel } from '../../../testing/src/fake-channel.ts'
import { openDatabase } from '../../../foundation/src/storage/database.ts'
import { allMigrations } from '../../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../../foundation/src/storage/migrate.ts'
import type { ChannelAdapter, ConversationPlace } from './adapter.ts'
import { createConversationMoves, sendingToNewest } from './conversation-moves.ts'

type Harness = Awaited<ReturnType<typeof aChannelHarness>>

const place = (conversationId: string, threadId: string | null = null): ConversationPlace => ({
  conversationId,
  threadId,
  isPrivate: false,
})
const [group, supergroup] = ['-5', '-1005']

const opened: Harness[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.stop()
})

async function open(more: Partial<ChannelHarnessOptions> = {}, fake: FakeChannel = createFakeAdapter()) {
  const harness = await aChannelHarness({ adapters: [fake.adapter], ...more })
  opened.push(harness)
  let count = 0
  const say = async (text: string, at: ConversationPlace) => {
    await fake.hear(aReceived({ id: `${at.conversationId}:${++count}`, text, place: at }))
    await harness.clock.settle()
  }
  const moved = (from: string, to: string) => harness.desk.moved('telegram', { from, to })
  const runs = () => harness.ledger.queries.list({ limit: 50 }).toReversed()
  const sessions = () => new Set(runs().map(({ input }) => (input.kind === 'chat' ? input.session : '')))
  const shown = () => fake.messages().map(({ place: at, text }) => `${at.conversationId} ${text}`)
  return { ...harness, fake, say, moved, runs, sessions, shown }
}

describe('a conversation with a changed id', () => {
  test('a conversation with a changed id keeps its agent and session, in every thread', async () => {
    const setup = await open()
    for (const thread of [null, '9']) {
      await setup.say('/use scout', place(group, thread))
      await setup.say('first', place(group, thread))
    }
    setup.moved(group, supergroup)
    for (const thread of [null, '9']) await setup.say('second', place(supergroup, thread))
    expect(setup.runs().map(({ agentId }) => agentId)).toEqual(['scout', 'scout', 'scout', 'scout'])
    expect(setup.sessions().size).toBe(2)
  })

  test('a conversation with a changed id gets pending outcomes and waiting letters', async () => {
    const setup = await open()
    await setup.say('slow work', place(group))
    setup.fake.platform.failNext('unreachable')
    await setup.say('/stop scout', place(group))
    setup.moved(group, supergroup)
    await setup.clock.advance(5000)
    setup.agents.finish('operator', { response: 'done' })
    await setup.clock.settle()
    expect(setup.shown()).toEqual([
      `${supergroup} You have no unfinished requests here.`,
      expect.stringMatching(/^-1005 \[operator\]\s+done$/),
    ])
  })

  test('a person can stop earlier requests in a conversation with a changed id', async () => {
    const setup = await open()
    await setup.say('slow work', place(group))
    setup.moved(group, supergroup)
    await setup.say('/stop', place(supergroup))
    expect(setup.shown()).toContain(`${supergroup} Stopped: operator.`)
  })

  test('changed ids are kept over a restart and further changes, and each change is recorded once', async () => {
    const setup = await open()
    await setup.say('/use scout', place(group))
    setup.moved(group, supergroup)
    setup.moved(group, supergroup)
    setup.moved(supergroup, group)
    setup.moved(supergroup, '-9')
    await setup.stop()
    opened.pop()
    const again = await open({ of: setup })
    await again.say('hello', place('-9'))
    again.agents.finish('scout', { response: 'hi' })
    await again.clock.settle()
    expect(again.runs().map(({ agentId }) => agentId)).toEqual(['scout'])
    expect(again.shown()).toEqual([expect.stringMatching(/^-9 \[scout\]\s+hi$/)])
    expect(again.rows("SELECT subject FROM journal WHERE action = 'channel.conversation-moved'")).toEqual([
      { subject: 'telegram:-5' },
      { subject: 'telegram:-1005' },
    ])
  })

  test('a changed id affects no other channel or conversation', async () => {
    const setup = await open()
    setup.desk.moved('discord', { from: group, to: supergroup })
    await setup.say('/help', place(group))
    await setup.say('/help', place('-6'))
    setup.moved(group, supergroup)
    await setup.say('/help', place('-6'))
    expect(setup.fake.messages().map(({ place: at }) => at.conversationId)).toEqual(['-5', '-6', '-6'])
  })
})

test('every call that goes to a conversation uses its newest id', async () => {
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  const moves = createConversationMoves(database)
  moves.add('telegram', { from: group, to: supergroup }, 1)
  const fake = createFakeAdapter()
  const typed: ConversationPlace[] = []
  const edited: ConversationPlace[] = []
  const platform: ChannelAdapter = {
    ...fake.adapter,
    showTyping: async (at) => void typed.push(at),
    edit: async ({ place: at }) => void edited.push(at),
  }
  const adapter = sendingToNewest(platform, moves)
  const { signal } = new AbortController()
  const at = { place: place(group, '9'), clientId: 'note_1-0' }
  const file = { ...at, name: 'a.txt', mediaType: 'text/plain', bytes: new Uint8Array([1]) }
  const { id } = await adapter.send({ ...at, text: 'hi', buttons: [], replyToId: null }, signal)
  await adapter.edit?.({ place: at.place, messageId: id, text: 'again', buttons: [] }, signal)
  await adapter.upload?.(file, signal)
  await adapter.showTyping?.(at.place)
  const newest = place(supergroup, '9')
  expect(fake.messages().map(({ place: to }) => to)).toEqual([newest])
  expect(fake.files().map(({ place: to }) => to)).toEqual([newest])
  expect([edited, typed]).toEqual([[newest], [newest]])
})
