import { expect, onTestFinished, test } from 'vitest'
import { commandsByTurn, converse, startBilledMesh } from '../support/billed-conversation.ts'
import { startCachingProvider } from '../support/caching-provider.ts'

const costShareMax = 0.25

test.each(['anthropic', 'openai'] as const)(
  'a conversation with %s costs a fraction of its tokens, because the provider has cached them',
  async (wire) => {
    const provider = await startCachingProvider(wire)
    onTestFinished(() => provider.close())
    const mesh = await startBilledMesh(wire, provider)
    onTestFinished(() => mesh.stop())
    const bills = await converse(mesh, provider, 'operator')
    expect(bills).toHaveLength(commandsByTurn.reduce((sum, count) => sum + count + 1, 0))
    const sum = (field: 'tokens' | 'cost') => bills.reduce((total, bill) => total + bill[field], 0)
    expect(sum('cost') / sum('tokens')).toBeLessThan(costShareMax)
    // Each call reads all that the one before it sent, but for what a provider rounds off.
    for (const [at, bill] of bills.entries()) {
      if (at > 0) expect(bill.read).toBeGreaterThan((bills[at - 1]?.tokens ?? 0) * 0.9)
    }
  },
)
