import { expect, onTestFinished, test } from 'vitest'
import { aChannelHarness, ann } from '../../../testing/src/channel-harness.ts'
import type { ChannelHarnessOptions } from '../../../testing/src/channel-harness.ts'
import { aReceived, createFakeAdapter } from '../../../testing/src/fake-channel.ts'

const bob = { name: 'bob', role: 'member' as const, agents: ['scout'], identities: ['whatsapp:491700000001'] }
const change = { id: 'wamid.1', from: '491700000001', to: '491700000002' }

async function open(more: Partial<ChannelHarnessOptions> = {}) {
  const fake = createFakeAdapter()
  const harness = await aChannelHarness({ adapters: [fake.adapter], people: [ann, bob], ...more })
  onTestFinished(() => harness.stop())
  await fake.hear(aReceived({ id: 'said-1', text: '/help' }))
  await harness.clock.settle()
  const sentTexts = () => fake.messages().slice(1)
  return { ...harness, fake, told: sentTexts }
}

test('owners receive one notice about a changed id with the command to type, and permissions stay', async () => {
  const setup = await open()
  for (let time = 0; time < 2; time++) setup.desk.identityChanged('whatsapp', change)
  await setup.clock.settle()
  expect(setup.told()).toMatchObject([
    {
      place: { conversationId: '1000' },
      text: expect.stringMatching(
        /flotilla people unlink bob whatsapp:491700000001 and flotilla people link bob whatsapp:491700000002/,
      ),
    },
  ])
  expect(setup.identityOf('whatsapp', '491700000001')).toBe('bob')
  expect(setup.identityOf('whatsapp', '491700000002')).toBeNull()
  expect(setup.rows("SELECT subject, detail FROM journal WHERE action = 'channel.identity-changed'")).toEqual(
    [{ subject: 'whatsapp:491700000001', detail: JSON.stringify({ to: 'whatsapp:491700000002' }) }],
  )
})

test('a changed id of a stranger causes no notice', async () => {
  const setup = await open()
  setup.desk.identityChanged('whatsapp', { ...change, from: '491700000009' })
  await setup.clock.settle()
  expect(setup.told()).toEqual([])
})
