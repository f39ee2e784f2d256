import { describe, expect, test } from 'vitest'
import { promptFromChat } from './prompt-from-chat.ts'
import { sdkRules } from './sdk-rules.ts'
import type { SdkKind } from './sdk-rules.ts'
import { createToolNames } from './tool-names.ts'

const kinds = (Object.keys(sdkRules) as SdkKind[]).filter((kind) => kind !== 'openai')

function promptOf(kind: SdkKind) {
  const rules = sdkRules[kind]
  return promptFromChat(
    [
      { role: 'system', content: 'be good' },
      { role: 'developer', content: 'and brief' },
      { role: 'user', content: 'hello' },
      { role: 'system', content: 'this is the last answer' },
    ],
    { rules, names: createToolNames(rules, []) },
  )
}

describe('instructions within a conversation', () => {
  test.each(kinds)(
    'instructions within a conversation reach %s as marked words of the user, since they are refused after the beginning',
    (kind) => {
      const prompt = promptOf(kind)
      expect(prompt.map(({ role }) => role)).toEqual(['system', 'system', 'user', 'user'])
      expect(prompt.at(-1)?.content).toEqual([
        { type: 'text', text: '[Instruction of the system] this is the last answer' },
      ])
    },
  )

  test('instructions within a conversation reach openai as instructions, which it takes at any place', () => {
    expect(promptOf('openai').map(({ role }) => role)).toEqual(['system', 'system', 'user', 'system'])
  })
})
