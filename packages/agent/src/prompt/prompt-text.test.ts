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

/** The compiler proves these: a line below that compiled without its error would fail the build. */
const raw: string = 'not cleaned'
const clean: PromptText = sanitizeForPrompt(raw)

// @ts-expect-error text that was not cleaned is no message of a user
const user: PromptMessage = { role: 'user', content: raw }
// @ts-expect-error nor an answer
const answer: PromptMessage = { role: 'assistant', content: raw, toolCalls: [] }
// @ts-expect-error nor the result of a tool
const result: PromptMessage = { role: 'tool', content: raw, toolCallId: 'a' }
// @ts-expect-error cleaned text with more put to it is cleaned no longer
const longer: PromptMessage = { role: 'user', content: `${clean} and ${raw}` }
// @ts-expect-error nor is a part of it, which may begin with half a character
const part: PromptMessage = { role: 'user', content: clean.slice(1) }
// @ts-expect-error the parts of a prompt are clean one by one
joinPromptText([clean, raw], '\n')
// @ts-expect-error and before they are cut
truncatePromptText(raw, 10)

const parts = (): SystemPromptParts => ({
  agentId: 'a',
  // @ts-expect-error a role comes from people
  role: raw,
  kind: 'worker',
  mode: 'chat',
  // @ts-expect-error workspace files come from anybody
  bootstrap: raw,
  // @ts-expect-error learnings hold the words of tools
  learnings: raw,
  now: 0,
})
const rounds = (work: LoopWork): LoopWork => ({
  ...work,
  // @ts-expect-error the loop takes no other instructions
  systemPrompt: raw,
})
const turn = (given: ContextTurn): ContextTurn => ({
  ...given,
  // @ts-expect-error nor does what keeps the conversation
  systemPrompt: raw,
})
// @ts-expect-error what a tool gives is read by the model
const end: ToolCallEnd = { output: raw, ok: true, durationMs: 0, code: null, completion: null }
const keep = (keeper: FactKeeper, log: DailyLog): void => {
  // @ts-expect-error facts come back into prompts
  void keeper.saveFacts([raw], { runId: 'r', runOk: true, provenance: noProvenance, mesh: noMesh })
  // @ts-expect-error so does the log of the day
  void log.append({ mark: 'm', text: raw })
}

test('text for a model is made by sanitizeForPrompt alone', () => {
  expect([user, answer, result, longer, part, parts, rounds, turn, end, keep]).toHaveLength(10)
  expect(clean).toBe('not cleaned')
})
