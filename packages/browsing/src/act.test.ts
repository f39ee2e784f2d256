import { describe, expect, onTestFinished, test } from 'vitest'
import { heedsLesson, verifies } from '../../../tests/verifies.ts'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { person } from '../../testing/src/ledger-harness.ts'
import { aBrowserHarness } from '../../testing/src/browser-harness.ts'
import type { BrowserHarness } from '../../testing/src/browser-harness.ts'

/** Each of `agents` works on a person's request. */
async function atWork(agents: readonly string[] = ['ada'], options: { readonly maxLive?: number } = {}) {
  const harness = await aBrowserHarness(options)
  onTestFinished(() => harness.end())
  harness.ledger.start()
  await harness.clock.settle()
  const runs = agents.map((agentId) => harness.chat(agentId, 'look it up'))
  await harness.clock.settle()
  return { harness, runs }
}

const page = { url: 'https://shop.example/cart' }
const stepsOf = (harness: BrowserHarness, agentId = 'ada') =>
  harness.containers.running.get(agentId)?.acted.map(({ action }) => action)

describe('actions of an agent in its browser', () => {
  test('an action of an agent in its browser opens one with the first action, with a token of its own, and uses it for the next', async () => {
    const { harness } = await atWork()
    expect(await harness.act('ada', 'navigate', page)).toMatchObject({ ok: true, data: { http_status: 200 } })
    expect(await harness.act('ada', 'snapshot')).toMatchObject({ ok: true, data: { elements: 1 } })
    expect(harness.containers.specs.map(({ agentId }) => agentId)).toEqual(['ada'])
    expect(stepsOf(harness)).toEqual(['navigate', 'snapshot'])
  })

  test('an action of an agent in its browser is refused at the first line where the record does not allow it, and nothing is opened', async () => {
    verifies('resources:permission:can-use-browser')
    const { harness } = await atWork()
    harness.records.set('ada', permissionRecordSchema.parse({}))
    await expect(harness.act('ada', 'navigate', page)).rejects.toMatchObject({ code: 'denied' })
    expect(harness.containers.specs).toEqual([])
  })

  test.each([
    ['the agent was deleted', (harness: BrowserHarness) => harness.records.delete('ada')],
    ['the agent was archived', (harness: BrowserHarness) => harness.archived.add('ada')],
    [
      'it lost this action',
      (harness: BrowserHarness) =>
        harness.records.set(
          'ada',
          permissionRecordSchema.parse({ can_use_browser: true, browser_actions: ['navigate'] }),
        ),
    ],
  ])(
    'an action of an agent in its browser is not done where %s while the browser came up',
    async (_what, change) => {
      const { harness } = await atWork()
      harness.containers.beforeStart = async () => void change(harness)
      await expect(harness.act('ada', 'snapshot')).rejects.toMatchObject({
        code: expect.stringMatching(/^(?:denied|browser-unavailable)$/),
      })
      expect(stepsOf(harness) ?? []).toEqual([])
    },
  )

  test.each([
    ['null', null, ['navigate', 'click', 'reset']],
    ['a star', ['*'], ['navigate', 'click', 'reset']],
    ['nothing', [], []],
    ['a list', ['navigate', 'snapshot'], ['navigate']],
  ] as const)('browser_actions of %s lets through what it names', async (_what, listed, through) => {
    verifies('resources:permission:browser-actions-all')
    verifies('resources:permission:browser-actions-none')
    verifies('resources:permission:browser-actions-list')
    const { harness } = await atWork()
    const browser_actions = listed === null ? null : [...listed]
    harness.records.set('ada', permissionRecordSchema.parse({ can_use_browser: true, browser_actions }))
    const asked = [
      ['navigate', page],
      ['click', { ref: 'e1' }],
      ['reset', {}],
    ] as const
    for (const [action, params] of asked) await harness.act('ada', action, params).catch(() => null)
    expect(stepsOf(harness) ?? []).toEqual([...through])
  })

  test('an unknown action and invalid parameters are refused with a reason', async () => {
    const { harness } = await atWork()
    await expect(harness.act('ada', 'fly')).rejects.toMatchObject({
      code: 'bad-request',
      detail: expect.stringContaining('it knows navigate, snapshot'),
    })
    await expect(harness.act('ada', 'click', { ref: '7' })).rejects.toMatchObject({
      code: 'bad-request',
      detail: expect.stringContaining('e1, e2'),
    })
    await expect(
      harness.act('ada', 'type', { ref: 'e1', text: '', secret: { value: 'x', origins: ['y'] } }),
    ).rejects.toMatchObject({ code: 'bad-request' })
  })

  test('a refusal of the browser is a reply with its reason', async () => {
    const { harness } = await atWork()
    await harness.act('ada', 'navigate', page)
    const browser = harness.containers.running.get('ada')
    if (browser) {
      browser.answer = async () => ({
        ok: false,
        problem: { code: 'stale-reference', message: 'e1 is gone: take a snapshot' },
      })
    }
    expect(await harness.act('ada', 'click', { ref: 'e1' })).toEqual({
      ok: false,
      code: 'stale-reference',
      message: 'e1 is gone: take a snapshot',
    })
  })

  test('a picture comes beside the words, and no base64 among them', async () => {
    const { harness } = await atWork()
    const reply = await harness.act('ada', 'screenshot')
    expect(reply).toMatchObject({ ok: true, picture: { media_type: 'image/png' } })
    expect(JSON.stringify(reply.ok && reply.data)).not.toContain('base64')
  })

  test('a download is stored in the agent’s files under a name without the page’s path', async () => {
    const { harness } = await atWork()
    const reply = await harness.act('ada', 'download', { ref: 'e1' })
    const [[path, content] = []] = harness.files
    expect(path).toMatch(/^downloads\/\d{17}-_?Report_of_May\.txt$/)
    expect(content?.toString()).toBe('hello')
    expect(reply).toMatchObject({ ok: true, data: { path } })
    expect(JSON.stringify(reply)).not.toContain('content_base64')
  })

  test('an upload takes from the agent’s files', async () => {
    const { harness } = await atWork()
    harness.files.set('work/a.txt', Buffer.from('hi'))
    await harness.act('ada', 'upload_file', { ref: 'e1', paths: ['work/a.txt'] })
    expect(harness.containers.running.get('ada')?.acted[0]?.params).toEqual({
      ref: 'e1',
      files: [{ name: 'a.txt', content_base64: Buffer.from('hi').toString('base64') }],
    })
  })

  test('a credential goes as a secret with its hosts, and comes back from no page', async () => {
    const { harness } = await atWork()
    harness.secrets.set('$CRED{shop}', { value: 'hunter2-hunter2', origins: ['https://shop.example'] })
    await harness.act('ada', 'navigate', page)
    await harness.act('ada', 'type', { ref: 'e1', text: '$CRED{shop}' })
    expect(harness.containers.running.get('ada')?.acted[1]?.params).toEqual({
      ref: 'e1',
      text: '',
      secret: { value: 'hunter2-hunter2', origins: ['https://shop.example'] },
    })
    const browser = harness.containers.running.get('ada')
    if (browser) browser.page = { url: 'https://shop.example/hunter2-hunter2', title: 'hunter2-hunter2' }
    const reply = await harness.act('ada', 'snapshot')
    expect(JSON.stringify([reply, await harness.browsers(person)])).not.toContain('hunter2-hunter2')
    await harness.act('ada', 'fill_form', { fields: { e1: 'Ada', e2: '$CRED{shop}' } })
    expect(browser?.acted.at(-1)?.params).toEqual({
      fields: [
        { ref: 'e1', value: 'Ada' },
        { ref: 'e2', value: '', secret: { value: 'hunter2-hunter2', origins: ['https://shop.example'] } },
      ],
    })
  })

  test('where the browser breaks off in the middle, the action ends as an error and the run goes on', async () => {
    const { harness, runs } = await atWork()
    await harness.act('ada', 'navigate', page)
    const browser = harness.containers.running.get('ada')
    if (browser) {
      browser.answer = async () => {
        await harness.containers.kill('ada', { code: 137, lastWords: '' })
        return undefined
      }
    }
    await expect(harness.act('ada', 'click', { ref: 'e1' })).rejects.toMatchObject({
      code: 'upstream-failed',
    })
    expect(harness.state(runs[0] ?? { id: '' })).toBe('running')
  })
})

describe('a place for a browser', () => {
  test('a place for a browser is refused if all are in use, and no open browser is closed for it', async () => {
    heedsLesson(122)
    const { harness } = await atWork(['ada', 'bob', 'cleo'])
    await harness.act('ada', 'navigate', page)
    await harness.act('bob', 'navigate', page)
    await expect(harness.act('cleo', 'navigate', page)).rejects.toMatchObject({
      code: 'browsers-full',
      detail: expect.stringContaining('ada, bob'),
    })
    expect([...harness.containers.running.keys()]).toEqual(['ada', 'bob'])
    await harness.person('close', 'ada', person)
    expect(await harness.act('cleo', 'navigate', page)).toMatchObject({ ok: true })
  })

  test('a place for a browser comes back after a hundred launches that fail', async () => {
    heedsLesson(117)
    const { harness } = await atWork(['ada', 'bob'], { maxLive: 1 })
    harness.containers.beforeStart = () => Promise.reject(new Error('no screen'))
    for (let tries = 0; tries < 100; tries++) {
      await expect(harness.act('ada', 'navigate', page)).rejects.toMatchObject({
        code: 'browser-unavailable',
        detail: expect.stringContaining('no screen'),
      })
    }
    harness.containers.beforeStart = async () => {}
    expect(await harness.act('bob', 'navigate', page)).toMatchObject({ ok: true })
  })

  test('a missing egress filter is reported with its reason', async () => {
    const { harness } = await atWork()
    const { start } = harness.containers
    harness.containers.start = async (spec) => {
      const address = await start(spec)
      await harness.containers.kill('ada', { code: 78, lastWords: 'The egress filter does not stand: x' })
      return address
    }
    await expect(harness.act('ada', 'navigate', page)).rejects.toMatchObject({
      detail: expect.stringContaining('ended with exit code 78: The egress filter does not stand: x'),
    })
    expect(await harness.browsers(person)).toMatchObject({ browsers: [{ agent_id: 'ada', state: 'failed' }] })
  })

  test('a place for a browser is unavailable while a wall does not hold, and each caller learns which', async () => {
    const { harness } = await atWork()
    harness.containers.walls = [{ id: 'agents-closed', holds: false, detail: 'an agent answered' }]
    await expect(harness.act('ada', 'navigate', page)).rejects.toMatchObject({
      code: 'browser-unavailable',
      detail: expect.stringContaining('browser-walls-open: '),
    })
    expect(harness.containers.specs).toEqual([])
    expect(await harness.browsers(person)).toMatchObject({
      browsers: [{ state: 'failed', reason: expect.stringContaining('agents-closed (an agent answered)') }],
    })
    harness.containers.walls = []
    expect(await harness.act('ada', 'navigate', page)).toMatchObject({ ok: true })
  })

  test('a place for a browser is kept over an engine that was away where all holds, and lost where something does not', async () => {
    const { harness } = await atWork()
    await harness.act('ada', 'navigate', page)
    harness.engineBack()
    await harness.act('ada', 'snapshot')
    expect(harness.containers.specs).toHaveLength(1)
    harness.containers.walls = [{ id: 'agents-closed', holds: false, detail: 'an agent answered' }]
    harness.engineBack()
    await expect
      .poll(() => harness.browsers(person))
      .toMatchObject({
        browsers: [{ state: 'failed', reason: expect.stringContaining('browser-walls-open') }],
      })
    expect(harness.containers.running.size).toBe(0)
  })

  test('a place for a browser is not given work where a wall fell while it came up', async () => {
    const { harness } = await atWork()
    harness.containers.beforeStart = async () => {
      harness.containers.walls = [{ id: 'agents-closed', holds: false, detail: 'an agent answered' }]
      harness.engineBack()
    }
    await expect(harness.act('ada', 'navigate', page)).rejects.toMatchObject({
      detail: expect.stringContaining('browser-walls-open'),
    })
    expect(harness.containers.running.size).toBe(0)
  })

  test('the token of a browser counts while it is open, and is in no row, event or environment', async () => {
    const { harness } = await atWork()
    const tokens: string[] = []
    const { start } = harness.containers
    harness.containers.start = async (spec) => {
      const { readFile } = await import('node:fs/promises')
      tokens.push(await readFile(`${spec.briefingDirectory}/proxy-token`, 'utf8'))
      return start(spec)
    }
    await harness.act('ada', 'navigate', page)
    const [token = ''] = tokens
    expect(harness.browserOf(token)).toBe('ada')
    expect(JSON.stringify(harness.containers.specs)).not.toContain(token)
    await harness.person('close', 'ada', person)
    expect(harness.browserOf(token)).toBeNull()
  })
})

describe('an unused browser', () => {
  const minutes = 60_000

  async function looked(harness: BrowserHarness): Promise<void> {
    const stop = new AbortController()
    const run = harness.module.run?.(stop.signal)
    await harness.clock.advance(2000)
    // The request to the container takes one or two turns of the event loop.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    stop.abort()
    await harness.clock.settle()
    await run
  }

  test('an unused browser closes after its minutes, keeps its profile, and comes back with the next use', async () => {
    const { harness } = await atWork()
    await harness.act('ada', 'navigate', page)
    await harness.clock.advance(4 * minutes)
    await looked(harness)
    expect(harness.containers.running.size).toBe(1)
    await harness.clock.advance(2 * minutes)
    await looked(harness)
    await expect.poll(() => harness.containers.running.size).toBe(0)
    expect([...harness.containers.profiles]).toEqual(['ada'])
  })

  test('an unused browser goes with its profile when its agent is deleted', async () => {
    const { harness } = await atWork()
    await harness.act('ada', 'navigate', page)
    await harness.fleetEvents.agentFilesDropped.publish('ada')
    expect([harness.containers.running.size, harness.containers.profiles.size]).toEqual([0, 0])
  })
})
