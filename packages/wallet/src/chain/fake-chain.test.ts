import { describeChain } from './chain.conformance.ts'
import { createFakeChain } from './fake-chain.ts'

const rich = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const poor = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const hasRaw = 10n ** 22n + 1n

describeChain('the one in memory', async () => ({
  chain: createFakeChain('sepolia', new Map([[rich, hasRaw]])),
  rich,
  poor,
  alsoRich: [rich.toLowerCase()],
  hasRaw,
  close: async () => {},
}))
