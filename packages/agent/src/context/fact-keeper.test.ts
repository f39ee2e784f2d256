import { aFactKeeper } from '../testing/context-parts.ts'
import { describeFactKeeper } from './fact-keeper.conformance.ts'

describeFactKeeper('the keeper in memory that tests rest on', async () => {
  const keeper = aFactKeeper()
  return { keeper, kept: async () => keeper.facts.join('; ') }
})
