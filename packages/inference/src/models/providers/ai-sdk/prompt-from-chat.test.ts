import { describe, expect, test } from 'vitest'
import { promptFromChat } from './prompt-from-chat.ts'
import { sdkRules } from './sdk-rules.ts'
import type { SdkKind } from './sdk-rules.ts'
import { createToolNames } from './tool-names.ts'

const kinds = Object.keys(sdkRules) as SdkKind[]

describe('instructions within a conversation', () => {
  test.each(kinds)(
    'instructions within a conversation reach %s as marked words of the user, since they are refused after the beginning',
    (kind) => {
      const rules = sdkRules[kind]
      const prompt = promptFromChat(
        [
          { role: 'system', content: 'be good' },
          { role: 'developer', content: 'and brief' },
          { role: 'user', content: 'hello' },
          { role: 'system', content: 'this is the last answer' },
        ],
        { rules, names: createToolNames(rules, []) },
      )
      expect(prompt.map(({ role }) => role)).toEqual(['system', 'system', 'user', 'user'])
      expect(prompt.at(-1)?.content).toEqual([
        { type: 'text', text: '[Instruction of the system] this is the last answer' },
      ])
    },
  )
})
