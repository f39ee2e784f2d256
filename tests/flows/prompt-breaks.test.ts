import { controlEndpoints } from '@flotilla/protocol/control-api'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { expect, onTestFinished, test } from 'vitest'
import { askCalling, askScripted, converse, startBilledMesh } from '../support/billed-conversation.ts'
import { startCachingProvider } from '../support/caching-provider.ts'
import type { CachingProvider, Wire } from '../support/caching-provider.ts'
import { editPermissions } from '../support/edit-permissions.ts'
import { flotilla } from '../support/flotilla-command.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import type { PromptBill } from '../support/prompt-prices.ts'

const wires = ['anthropic', 'openai', 'openai-marks', 'openai-items'] as const

async function aBilledMesh(wire: Wire, settings: Parameters<typeof startBilledMesh>[2] = {}) {
  const provider = await startCachingProvider(wire)
  onTestFinished(() => provider.close())
  const mesh = await startBilledMesh(wire, provider, settings)
  onTestFinished(() => mesh.stop())
  return { provider, mesh }
}

/** The reasons for lost caches that the trace of the agent's last run names, in order. */
async function breaksOfLastRun(mesh: MeshProcess): Promise<readonly string[]> {
  const { runs } = JSON.parse((await flotilla(mesh, 'runs', '--agent', 'worker', '--json')).out)
  const { out } = await flotilla(mesh, 'trace', runs[0].id)
  return [...out.matchAll(/cache lost: ([A-Za-z. ]*[A-Za-z])/g)].map(([, reason = '']) => reason)
}

/** True if a call read all of the previous call from the cache, but for the rounding of the provider. */
const readsAllOf = (before: PromptBill | undefined, after: PromptBill | undefined) =>
  (after?.read ?? 0) > (before?.tokens ?? Infinity) * 0.9

const skill = `import { skill } from '@flotilla/skill'
export default skill('count_words', 'counts words', { text: { type: 'string', description: 'the text' } },
  async ({ text }: { text: string }) => ({ words: text.split(' ').length }))
`

test.each(wires)(
  'a setting, a permission and a skill that change make one call to %s lose the cache, and the trace names each',
  async (wire) => {
    const { provider, mesh } = await aBilledMesh(wire)
    let turn = 0
    const ask = () => askScripted(mesh, provider, { agent: 'worker', turn: (turn += 1), commands: 1 })
    let last = (await askScripted(mesh, provider, { agent: 'worker', turn, commands: 1 })).at(-1)

    const expectOneBreak = async (reason: RegExp) => {
      const [first, second] = await ask()
      expect(readsAllOf(last, first)).toBe(false)
      expect(readsAllOf(first, second)).toBe(true)
      expect(await breaksOfLastRun(mesh)).toEqual([expect.stringMatching(reason)])
      const after = await ask()
      expect(readsAllOf(second, after[0])).toBe(true)
      expect(await breaksOfLastRun(mesh)).toEqual([])
      last = after.at(-1)
    }

    const edited = await mesh.call(controlEndpoints.agentEdit, {
      params: { id: 'worker' },
      body: { field: 'role', value: 'counts boats' },
    })
    expect(edited.status).toBe(200)
    await expectOneBreak(/^system (?:SYSTEM\.md|rules)$/)

    await editPermissions(mesh, 'worker', { can_manage_cron: true })
    await expectOneBreak(/^(?:tools|system (?:SYSTEM\.md|tool groups))$/)

    const written = await askCalling(mesh, provider, {
      agent: 'worker',
      turn: (turn += 1),
      calls: [
        {
          call: 'call_tool',
          input: { name: 'create_skill', arguments: { name: 'count_words', code: skill } },
        },
      ],
    })
    // The run that writes the skill keeps its prompt.
    expect(readsAllOf(last, written[0]) && readsAllOf(written[0], written[1])).toBe(true)
    expect(await breaksOfLastRun(mesh)).toEqual([])
    last = written.at(-1)
    await expectOneBreak(/^system skills$/)

    const metrics = await mesh.call(meshHumanEndpoints.metrics)
    expect(metrics.text).toMatch(/^flotilla_cache_hit_today_ratio\{agent="worker"\} 0\.[5-9]/m)
    expect(metrics.text).toMatch(/^flotilla_cache_saved_today_usd\{agent="worker"\} /m)
  },
)

/** The calls of the agent's loop: those beside the conversation have no tools. */
function loopCalls(provider: CachingProvider) {
  const bills = provider.bills()
  return provider.bodies().flatMap((body, at) => {
    const bill = bills[at]
    return Array.isArray(body['tools']) && bill !== undefined ? [{ body, bill }] : []
  })
}

test.each(wires)(
  'cut results and a compaction keep tools and instructions in the cache of %s, and each costs one call',
  async (wire) => {
    // The tokenizer of OpenAI's models counts twice the tokens for these results, of which the newest four stay whole.
    const windowTokens = wire === 'anthropic' ? 16_000 : 26_000
    const { provider, mesh } = await aBilledMesh(wire, { windowTokens })
    await converse(mesh, provider, 'worker')
    await converse(mesh, provider, 'worker')
    const calls = loopCalls(provider)
    const sent = calls.map(({ body }) => JSON.stringify(body))
    const firstWith = (text: string) => sent.findIndex((body) => body.includes(text))
    // Results are cut before anything is summarized.
    const [cutAt, summaryAt] = [
      firstWith('Cut to save space'),
      firstWith('Summary of the conversation before'),
    ]
    expect(cutAt).toBeGreaterThan(0)
    expect(summaryAt).toBeGreaterThan(cutAt)
    const [first] = calls
    const { tools, system, messages, input } = first?.body ?? {}
    const frame = JSON.stringify([tools, system ?? ((messages ?? input) as unknown[])[0]]).length / 4
    const broken = calls.flatMap(({ bill }, at) =>
      at > 0 && !readsAllOf(calls[at - 1]?.bill, bill) ? [at] : [],
    )
    expect(broken.length).toBeGreaterThan(1)
    for (const at of broken) {
      expect(calls[at]?.bill.read).toBeGreaterThan(frame * 0.85)
      // The call after it finds the changed conversation.
      expect(broken).not.toContain(at + 1)
    }
  },
)
