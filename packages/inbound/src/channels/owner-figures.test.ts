import { Problem } from '@flotilla/protocol/problem'
import { expect, onTestFinished, test } from 'vitest'
import { aChannelHarness, ann } from '../../../testing/src/channel-harness.ts'
import type { ChannelHarnessOptions } from '../../../testing/src/channel-harness.ts'
import { aReceived, createFakeAdapter } from '../../../testing/src/fake-channel.ts'
import type { ReceivedMessage } from './adapter.ts'
import { channelCommands } from './commands/command-table.ts'

const group = { conversationId: '-5', threadId: null, isPrivate: false }
const names = /operator|scout|auditor|USD|\d+ agents/

async function open(more: Partial<ChannelHarnessOptions> = {}) {
  const fake = createFakeAdapter({ editEveryMs: null })
  const harness = await aChannelHarness({ adapters: [fake.adapter], ...more })
  onTestFinished(() => harness.stop())
  let count = 0
  const say = async (text: string, fields: Partial<ReceivedMessage> = {}) => {
    await fake.hear(aReceived({ id: `said-${++count}`, text, ...fields }))
    await harness.clock.settle()
  }
  const toldTo = (conversation: string) =>
    fake
      .messages()
      .filter(({ place }) => place.conversationId === conversation)
      .map(({ text }) => text)
  return { ...harness, fake, say, toldTo, inGroup: (text: string) => say(text, { place: group }) }
}

test.each([
  ['/agents', /scout: the scout/],
  ['/status', /3 agents/],
  ['/status scout', /USD 0\.25 today/],
  ['/costs', /Today USD 1\.50/],
  ['/pending', /no open approvals/],
])('%s in a group is answered in the direct conversation of the caller', async (text, answer) => {
  const setup = await open()
  await setup.say('/help')
  const before = setup.toldTo('1000').length
  await setup.inGroup(text)
  expect(setup.toldTo('-5')).toEqual(['The answer is in our direct conversation.'])
  expect(setup.toldTo('1000').slice(before)).toEqual([expect.stringMatching(answer)])
})

test.each(['/agents', '/status', '/costs', '/pending'])(
  '%s in a group is refused to a person without a direct conversation',
  async (text) => {
    const setup = await open()
    await setup.inGroup(text)
    expect(setup.toldTo('-5')).toEqual([expect.stringContaining('is answered only in a direct conversation')])
    expect(setup.toldTo('1000')).toEqual([])
  },
)

test('a private answer goes only to the caller and not to other owners', async () => {
  const bob = { name: 'bob', role: 'owner' as const, identities: ['telegram:2000'] }
  const setup = await open({ people: [ann, bob] })
  await setup.say('/help')
  await setup.say('/costs', { senderId: '2000', place: group })
  expect(setup.toldTo('1000')).toHaveLength(1)
  expect(setup.toldTo('-5')).toEqual([expect.stringContaining('is answered only in a direct conversation')])
})

// The list contains all commands, so that a new one is tested too.
test('no command lists agents or their costs in a group', async () => {
  const setup = await open({ agents: ['scout', 'auditor'] })
  await setup.say('/help')
  for (const { name } of channelCommands) if (name !== 'help') await setup.inGroup(`/${name}`)
  await setup.inGroup('plain words, with no agent chosen')
  await setup.inGroup('/broadcast go')
  const told = setup.toldTo('-5')
  expect(told).toHaveLength(channelCommands.length + 1)
  expect(told.filter((text) => names.test(text))).toEqual(['Sent to 2 agents.'])
  expect(
    setup.fake.messages().filter(({ place, buttons }) => !place.isPrivate && buttons.length > 0),
  ).toEqual([])
})

test('the outcome of a run shows the remaining budget only in a direct conversation', async () => {
  const setup = await open()
  const detail = 'the daily budget of agent scout has 0.01 of 5 USD left'
  for (const place of [group, undefined]) {
    await setup.say('@scout go', place === undefined ? {} : { place })
    setup.agents.finish('scout', {
      status: 'failed',
      response: '',
      error: { code: 'budget-exhausted', detail },
    })
    await setup.clock.settle()
  }
  expect(setup.toldTo('-5')[0]).toMatch(/a budget is used up; its figures are shown only in a direct/)
  expect(setup.toldTo('-5')[0]).not.toMatch(/USD/)
  expect(setup.toldTo('1000')[0]).toContain(detail)
})

test('a rejected voice note shows the remaining budget only in a direct conversation', async () => {
  const setup = await open({ voice: { model: 'own/whisper', usd_per_minute: 0.006 } })
  const detail = 'the daily budget of agent operator has 0.01 of 5 USD left'
  setup.faults.transcribing = async () => ({
    failed: new Problem('budget-exhausted', { detail }),
    waitMs: null,
  })
  setup.fake.keep('note', Buffer.from('hello'))
  const attachments = [
    { kind: 'voice', name: 'voice.ogg', mediaType: 'audio/ogg', sizeBytes: 5, reference: 'note' } as const,
  ]
  await setup.say('', { place: group, attachments })
  await setup.say('', { attachments })
  expect(setup.toldTo('-5')).toEqual([expect.stringMatching(/a budget is used up; its figures/)])
  expect(setup.toldTo('1000')).toEqual([expect.stringContaining(detail)])
})
