import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDataFiles } from '../files/data-files.ts'
import { aFactKeeper } from '../testing/context-parts.ts'
import { createDailyLog } from '../workspace/daily-log.ts'
import { describeFactKeeper } from './fact-keeper.conformance.ts'
import { logFacts } from './log-facts.ts'

describeFactKeeper('the log of the day', async () => {
  const clock = { now: () => Date.UTC(2030, 4, 10), sleep: () => Promise.resolve() }
  const files = createDataFiles(mkdtempSync(join(tmpdir(), 'facts-')))
  const log = createDailyLog({ files, clock })
  return { keeper: logFacts(log), kept: async () => (await log.read('2030-05-10')) ?? '' }
})

describeFactKeeper('the fake of the tests', async () => {
  const keeper = aFactKeeper()
  return { keeper, kept: async () => keeper.facts.join() }
})
