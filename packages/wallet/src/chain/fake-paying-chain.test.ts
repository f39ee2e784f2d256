import { createFakePayingChain } from './fake-paying-chain.ts'
import { describePayingChain } from './paying-chain.conformance.ts'

describePayingChain('the one in memory', async () => {
  const chain = createFakePayingChain('base')
  return {
    chain,
    payer: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    friend: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
    key: new Uint8Array(32).fill(7),
    mine: async () => chain.mine(),
    bury: async () => chain.mine(3),
  }
})
