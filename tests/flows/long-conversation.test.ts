import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { heedsLesson } from '../verifies.ts'
import { startMeshForTest } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startReadingModel } from '../support/reading-model.ts'
import type { ReadingModel } from '../support/reading-model.ts'

const isSoak = process.env['FLOTILLA_SOAK'] === '1'
const turns = isSoak ? 300 : 40
const windowTokens = 18_000
const boundMs = isSoak ? 1_200_000 : 120_000

async function aFleet(options: {
  readonly forgets: boolean
  /** The context window that the owner configured, in tokens. */
  readonly context?: number
}): Promise<{ model: ReadingModel; mesh: MeshProcess }> {
  const model = await startReadingModel({ windowTokens, forgets: options.forgets })
  onTestFinished(() => model.close())
  const mesh = await startMeshForTest({
    settings: {
      default_model: 'lab/reader',
      providers: { lab: { kind: 'openai-compatible', base_url: model.baseUrl, local: true } },
      models: { 'lab/reader': { context: options.context ?? windowTokens } },
    },
  })
  return { model, mesh }
}

/** Small talk of realistic length, each message different. */
const smallTalk = (turn: number): string => `Turn ${turn}: ${`the tide is ${turn} `.repeat(60)}`

async function converse(mesh: MeshProcess): Promise<string> {
  for (let turn = 1; turn < turns; turn += 1) {
    const said = turn === 3 ? 'Remember that the harbour door is green, please.' : smallTalk(turn)
    const run = await mesh.ask(said, { session: 'long' })
    expect(run.outcome).toMatchObject({ status: 'done' })
  }
  return outcomeOf(await mesh.ask('What color is the harbour door?', { session: 'long' }))
}

const outcomeOf = (run: { outcome: unknown }): string => JSON.stringify(run.outcome)

/** Each result follows the call that it answers. */
function expectWholeGroups(model: ReadingModel): void {
  for (const { messages } of model.taken) {
    const made = new Set<string>()
    for (const message of messages) {
      for (const call of message.tool_calls ?? []) made.add(call.id)
      if (message.role === 'tool') expect(made).toContain(message.tool_call_id)
    }
  }
}

describe(`a conversation of ${turns} turns`, () => {
  it(
    `a conversation of ${turns} turns answers with a fact of turn 3 from its summary, and no request is longer than the window`,
    async () => {
      const { model, mesh } = await aFleet({ forgets: false })
      expect(await converse(mesh)).toContain('It is green.')
      expect(model.summaries()).toBeGreaterThanOrEqual(isSoak ? 5 : 1)
      expect(model.refused()).toBe(0)
      expectWholeGroups(model)
      const memory = join(mesh.dataOf('operator'), 'workspace', 'memory')
      const logs = readdirSync(memory).filter((name) => name.endsWith('.md'))
      expect(logs.length).toBeGreaterThan(0)
      expect(logs.map((name) => readFileSync(join(memory, name), 'utf8')).join()).toContain('harbour door')
    },
    boundMs,
  )

  it(
    'the agent finds a fact on its disk that the summary lacks, with a misreported window',
    async () => {
      const { model, mesh } = await aFleet({ forgets: true, context: 128_000 })
      expect(await converse(mesh)).toContain('It is green.')
      const { messages } = model.taken.at(-1) ?? { messages: [] }
      expect(messages.slice(0, -2).some(({ content }) => content?.includes('harbour door is green'))).toBe(
        false,
      )
      expect(messages.at(-1)).toMatchObject({ role: 'tool' })
      expect(messages.at(-1)?.content).toContain('harbour door is green')
      // The provider refused a few calls until the agent had learned the real window, and none after that.
      expect(model.refused()).toBeGreaterThan(0)
      expect(model.refused()).toBeLessThanOrEqual(4)
      expect(existsSync(join(mesh.dataOf('operator'), 'workspace', 'memory', 'transcripts'))).toBe(true)
      expectWholeGroups(model)
    },
    boundMs,
  )
})

describe('what a provider is sent', () => {
  it('what a provider is sent begins with the very bytes of the turn before, so that its cache holds', async () => {
    heedsLesson(112)
    // The window has room for the longest answer, so that the remaining room does not limit the request.
    const { model, mesh } = await aFleet({ forgets: false, context: 128_000 })
    for (const turn of [1, 2, 3]) await mesh.ask(smallTalk(turn), { session: 'cached' })
    const bodies = model.taken.map(({ body }) => body)
    expect(bodies).toHaveLength(3)
    for (const [index, body] of bodies.entries()) {
      const next = bodies[index + 1]
      if (!next) continue
      const bytes = (value: unknown): string => JSON.stringify(value)
      const messagesOf = (one: object): string => bytes('messages' in one ? one.messages : null).slice(0, -1)
      const rest = (one: object): string => bytes({ ...one, messages: null })
      expect(messagesOf(body).length).toBeGreaterThan(3000)
      expect(messagesOf(next).startsWith(messagesOf(body))).toBe(true)
      expect(rest(next)).toBe(rest(body))
    }
  })
})
