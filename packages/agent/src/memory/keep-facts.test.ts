import { onTestFinished } from 'vitest'
import { describeFactKeeper } from '../context/fact-keeper.conformance.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { aFolder } from '../testing/memory-harness.ts'
import { quietLog } from '../testing/quiet-log.ts'
import { keepFacts } from './keep-facts.ts'
import { createMemory } from './memory.ts'

describeFactKeeper('the memory', async () => {
  const clock = createManualClock()
  const memory = createMemory({ dataDirectory: aFolder(), embeddingModel: null, clock, log: quietLog })
  onTestFinished(() => memory.close())
  const found = async (text: string) =>
    (
      await memory.search(
        { text, category: null, maxResults: 5, runId: 'run_2' },
        null,
        new AbortController().signal,
      )
    ).facts.map((fact) => fact.text)
  return {
    keeper: keepFacts({ memory, embeddingModel: null }),
    kept: async () => (await found('door key')).join('; '),
  }
})
