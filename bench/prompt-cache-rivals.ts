import { join } from 'node:path'
import { commandsByTurn, converse, startBilledMesh } from '../tests/support/billed-conversation.ts'
import { startCachingProvider } from '../tests/support/caching-provider.ts'
import type { CachingProvider } from '../tests/support/caching-provider.ts'
import { reasonOf } from './bench.ts'
import type { Bench } from './bench.ts'
import { converseWithRival, installRival, rivalAgents } from './rival-agent.ts'
import { figure } from './table.ts'

const results = commandsByTurn.reduce((sum, count) => sum + count, 0)

interface Measured {
  readonly agent: string
  /** Tools in its first prompt. */
  readonly tools: number
  readonly calls: number
  readonly firstTokens: number
  readonly tokens: number
  readonly written: number
  readonly cost: number
}

export const promptCacheRivalsBench: Bench = {
  name: 'prompt-cache-rivals',
  claim: `the conversation of prompt-cache with ${results} tool results, also with agents of other systems from npm`,
  defaultRuns: 1,
  // It downloads some 700 MB.
  long: true,
  run: async ({ progress, signal, folder }) => {
    const measured: Measured[] = []
    const failures: string[] = []
    const measure = async (agent: string, use: (provider: CachingProvider) => Promise<void>) => {
      signal.throwIfAborted()
      progress(agent)
      const provider = await startCachingProvider('anthropic')
      try {
        await use(provider)
        measured.push(measuredOf(agent, provider))
      } finally {
        await provider.close()
      }
    }
    for (const agent of ['operator', 'worker'])
      await measure(agent, async (provider) => {
        const mesh = await startBilledMesh('anthropic', provider)
        try {
          await converse(mesh, provider, agent)
        } finally {
          await mesh.stop()
        }
      })
    for (const [at, rival] of rivalAgents.entries()) {
      const place = join(folder, `rival-${at}`)
      const name = `${rival.name} ${rival.version}`
      try {
        progress(`installing ${rival.name}`)
        const program = await installRival(rival, join(place, 'installed'), signal)
        await measure(name, (provider) =>
          converseWithRival(rival, provider, { program, home: join(place, 'home'), signal }),
        )
      } catch (error) {
        signal.throwIfAborted()
        // A registry or a program of others may fail; the other rows are still true.
        failures.push(`${name} was not measured: ${reasonOf(error)}`)
      }
    }
    return {
      tables: [
        {
          title: `Prompt cache: ${results} tool results over Anthropic's API, beside agents of other systems`,
          columns: ['', 'tools', 'calls', 'first prompt', 'tokens', 'written', 'cost'],
          rows: measured.map((one) => [
            one.agent,
            ...[one.tools, one.calls, one.firstTokens, one.tokens, one.written, one.cost].map((value) =>
              figure(value, 0),
            ),
          ]),
          notes: [
            'The same questions and commands, and the same provider on loopback. A token is four bytes, and the cost is in tokens at the full input price.',
            'Calls include those that an agent makes beside the conversation, for example for its title.',
            ...failures,
          ],
        },
      ],
      figures: { measured },
    }
  },
}

function measuredOf(agent: string, provider: CachingProvider): Measured {
  const bills = provider.bills()
  const bodies = provider.bodies()
  const first = bodies.findIndex(({ tools }) => Array.isArray(tools) && tools.length > 0)
  const tools = bodies[first]?.['tools']
  const sum = (field: 'tokens' | 'written' | 'cost') => bills.reduce((total, bill) => total + bill[field], 0)
  return {
    agent,
    tools: Array.isArray(tools) ? tools.length : 0,
    calls: bills.length,
    firstTokens: bills[first]?.tokens ?? Number.NaN,
    tokens: sum('tokens'),
    written: sum('written'),
    cost: sum('cost'),
  }
}
