import { Problem } from '@flotilla/protocol/problem'
import { describeLanguageModel } from './language-model.conformance.ts'
import { createScriptedModel } from './scripted-model.ts'

describeLanguageModel('the scripted model', async (answer) => ({
  model: createScriptedModel([answer ?? new Problem('denied')]),
  close: async () => undefined,
}))
