import { expect, onTestFinished, test } from 'vitest'
import { askScripted, commandsByTurn, converse, startBilledMesh } from '../support/billed-conversation.ts'
import { startCachingProvider } from '../support/caching-provider.ts'
import { editPermissions } from '../support/edit-permissions.ts'

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
    // Each call reads all tokens of the previous call from the cache, except for the provider's rounding.
    const readsAllOf = (at: number, of = bills) =>
      expect(of[at]?.read).toBeGreaterThan((of[at - 1]?.tokens ?? 0) * 0.9)
    for (let at = 1; at < bills.length; at += 1) readsAllOf(at)

    // A changed permission changes the tools: one call has no cache hit, and the next ones have again.
    await editPermissions(mesh, 'operator', { can_edit_agent_config: false })
    const turn = commandsByTurn.length
    const later = await askScripted(mesh, provider, { agent: 'operator', turn, commands: 2 })
    expect(later).toHaveLength(3)
    expect(later[0]?.read).toBeLessThan((bills.at(-1)?.tokens ?? 0) * 0.5)
    readsAllOf(1, later)
    readsAllOf(2, later)
  },
)
