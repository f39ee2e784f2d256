import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { expect, onTestFinished, test } from 'vitest'
import { person } from '../../testing/src/ledger-harness.ts'
import { aBrowserHarness, openShop } from '../../testing/src/browser-harness.ts'
import type { BrowserHarness } from '../../testing/src/browser-harness.ts'

async function adaAtWork() {
  const harness = await aBrowserHarness()
  onTestFinished(() => harness.end())
  const run = await openShop(harness)
  return { harness, run }
}

const viewer = { ...person, role: 'viewer', person: 'vera' } as const
const member = { ...person, role: 'member', person: 'mia', agents: ['ada'] } as const
const lastSaid = (harness: BrowserHarness) => harness.agents.sent.at(-1)?.message ?? ''

test('while a person has the browser the run waits, and goes on with what changed', async () => {
  const { harness, run } = await adaAtWork()
  expect(await harness.person('take-over', 'ada', person)).toMatchObject({
    hand_over: { kind: 'person', by: 'human:cli' },
  })
  const browser = harness.containers.running.get('ada')
  expect(browser?.mode).toBe('control')
  expect(await harness.act('ada', 'click', { ref: 'e1' })).toMatchObject({
    ok: false,
    code: 'waits-for-person',
  })
  harness.agents.finish('ada')
  await harness.clock.settle()
  expect(harness.state(run)).toBe('waiting')
  if (browser) browser.page = { url: 'https://shop.example/paid?secret=1', title: 'Paid' }
  await harness.person('give-back', 'ada', person)
  await harness.clock.settle()
  expect(harness.state(run)).toBe('running')
  expect(lastSaid(harness)).toContain('https://shop.example/cart (title, by the page: "A page") before')
  expect(lastSaid(harness)).toContain('https://shop.example/paid (title, by the page: "Paid") now')
  expect(lastSaid(harness)).not.toContain('secret')
  expect(browser?.mode).toBe('view')
  expect(browser?.acted.map(({ action }) => action)).toEqual(['navigate'])
})

test('a viewer cannot take over a browser, and a member only those of granted agents', async () => {
  const { harness } = await adaAtWork()
  await expect(harness.person('take-over', 'ada', viewer)).rejects.toMatchObject({ code: 'denied' })
  await expect(harness.person('take-over', 'bob', member)).rejects.toMatchObject({ code: 'denied' })
  await harness.person('take-over', 'ada', member)
  await expect(harness.person('take-over', 'ada', person)).rejects.toMatchObject({ code: 'conflict' })
  await harness.person('give-back', 'ada', person)
  await expect(harness.person('give-back', 'ada', person)).rejects.toMatchObject({ code: 'conflict' })
})

test('a page that needs a person parks the run, notifies the owner and informs the model', async () => {
  const { harness, run } = await adaAtWork()
  const browser = harness.containers.running.get('ada')
  if (browser) {
    browser.answer = async () => ({
      ok: true,
      data: {
        page: {
          url: 'https://shop.example/a',
          title: 'Are you there?',
          host: 'shop.example',
          tab_index: 0,
          tabs: 1,
        },
        dialogs: [],
        notices: [],
        captcha: { kind: 'recaptcha', host: 'shop.example', site_key: null },
        text: '',
        elements: 0,
        left_out: '',
      },
    })
  }
  const reply = await harness.act('ada', 'snapshot')
  expect(reply).toMatchObject({ ok: true, notes: [expect.stringContaining('End your turn now')] })
  expect(harness.told).toEqual([expect.stringContaining('flotilla browser ada --open')])
  harness.agents.finish('ada')
  await harness.clock.settle()
  expect(harness.state(run)).toBe('waiting')
  await harness.person('take-over', 'ada', person)
  await harness.person('give-back', 'ada', person)
  await harness.clock.settle()
  expect(harness.state(run)).toBe('running')
})

test('if the browser ends meanwhile, the run continues and is informed', async () => {
  const { harness, run } = await adaAtWork()
  await harness.person('take-over', 'ada', person)
  await harness.act('ada', 'snapshot')
  harness.agents.finish('ada')
  await harness.clock.settle()
  await harness.person('close', 'ada', person)
  await harness.clock.settle()
  expect(harness.state(run)).toBe('running')
  expect(lastSaid(harness)).toContain('Your browser was closed meanwhile')
})

test('a hand-over of a mesh that died is ended by the next, and its run goes on', async () => {
  const { harness, run } = await adaAtWork()
  await harness.person('take-over', 'ada', person)
  await harness.act('ada', 'snapshot')
  harness.agents.finish('ada')
  await harness.clock.settle()
  await harness.module.begin?.()
  await harness.clock.settle()
  expect(harness.state(run)).toBe('running')
})

test('a hand-over ends when no run waits for it', async () => {
  const { harness, run } = await adaAtWork()
  await harness.person('take-over', 'ada', person)
  await harness.act('ada', 'snapshot')
  harness.ledger.lifecycle.cancelRun(person, run.id)
  harness.agents.finish('ada', { status: 'cancelled' })
  await harness.clock.settle()
  expect(await harness.browsers(person)).toMatchObject({ browsers: [{ hand_over: { kind: 'person' } }] })
  await harness.person('give-back', 'ada', person)
  expect(await harness.browsers(person)).toMatchObject({ browsers: [{ hand_over: null }] })
})

test.each([
  ['is archived', (harness: BrowserHarness) => void harness.archived.add('ada')],
  [
    'lost the permission',
    (harness: BrowserHarness) => void harness.records.set('ada', permissionRecordSchema.parse({})),
  ],
])('the browser of an agent that %s closes, even if a person has it', async (_what, take) => {
  const { harness } = await adaAtWork()
  await harness.person('take-over', 'ada', person)
  const swept = new AbortController()
  const sweeping = harness.module.run?.(swept.signal)
  await harness.clock.advance(10_000)
  expect(harness.containers.running.has('ada')).toBe(true)
  take(harness)
  await harness.clock.advance(10_000)
  expect(harness.containers.running.has('ada')).toBe(false)
  await expect(harness.person('take-over', 'ada', person)).rejects.toMatchObject({ code: 'conflict' })
  swept.abort()
  await harness.clock.advance(10_000)
  await sweeping
})

test('closing reports whether the browser was open, and changes nothing if it was not', async () => {
  const { harness } = await adaAtWork()
  expect(await harness.person('close', 'ada', person)).toMatchObject({ state: 'closed', was_open: true })
  expect(await harness.person('close', 'ada', person)).toMatchObject({ state: 'closed', was_open: false })
  expect(await harness.person('close', 'bob', person)).toMatchObject({ state: 'closed', was_open: false })
})
