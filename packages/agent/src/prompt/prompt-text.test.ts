import { joinPromptText, sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { expect, test } from 'vitest'
import type { ContextTurn } from '../context/context-turn.ts'
import type { FactKeeper } from '../context/fact-keeper.ts'
import type { PromptMessage } from '../llm/language-model.ts'
import type { LoopWork } from '../loop/loop-deps.ts'
import type { ToolCallEnd } from '../tools/execute-tool-call.ts'
import { noMesh, noProvenance } from '../testing/loop-parts.ts'
import type { DailyLog } from '../workspace/daily-log.ts'
import type { SystemPromptParts } from './build-system-prompt.ts'

/** The compiler proves these rules: a line below that compiles without its error fails the build. */
const raw: string = 'not cleaned'
const clean: PromptText = sanitizeForPrompt(raw)

// @ts-expect-error text that was not cleaned cannot be a message of a user
const user: PromptMessage = { role: 'user', content: raw }
// @ts-expect-error uncleaned text cannot be an answer
const answer: PromptMessage = { role: 'assistant', content: raw, toolCalls: [] }
// @ts-expect-error uncleaned text cannot be the result of a tool
const result: PromptMessage = { role: 'tool', content: raw, toolCallId: 'a' }
// @ts-expect-error cleaned text with added text is no longer clean
const longer: PromptMessage = { role: 'user', content: `${clean} and ${raw}` }
// @ts-expect-error a part of cleaned text may begin with half a character
const part: PromptMessage = { role: 'user', content: clean.slice(1) }
// @ts-expect-error each part of a prompt must be clean
joinPromptText([clean, raw], '\n')
// @ts-expect-error text must be clean before it is truncated
truncatePromptText(raw, 10)

const parts = (): SystemPromptParts => ({
  agentId: 'a',
  // @ts-expect-error a role is written by people
  role: raw,
  kind: 'worker',
  mode: 'chat',
  // @ts-expect-error workspace files are written by any person or program
  bootstrap: raw,
  // @ts-expect-error learnings contain output of tools
  learnings: raw,
})
const rounds = (work: LoopWork): LoopWork => ({
  ...work,
  // @ts-expect-error the loop accepts only clean instructions
  systemPrompt: raw,
})
const turn = (given: ContextTurn): ContextTurn => ({
  ...given,
  // @ts-expect-error the context keeper accepts only clean instructions
  systemPrompt: raw,
})
// @ts-expect-error the model reads the output of a tool
const end: ToolCallEnd = { output: raw, ok: true, durationMs: 0, code: null, completion: null }
const keep = (keeper: FactKeeper, log: DailyLog): void => {
  // @ts-expect-error facts are inserted into prompts later
  void keeper.saveFacts([raw], { runId: 'r', runOk: true, provenance: noProvenance, mesh: noMesh })
  // @ts-expect-error the log of the day is inserted into prompts later
  void log.append({ mark: 'm', text: raw })
}

test('text for a model is made by sanitizeForPrompt alone', () => {
  expect([user, answer, result, longer, part, parts, rounds, turn, end, keep]).toHaveLength(10)
  expect(clean).toBe('not cleaned')
})
