import {
  operatorPlaybooks,
  playbookOf,
  playbooksMax,
  playbookTurns,
} from '@flotilla/protocol/operator-playbooks'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptMessage } from '../llm/language-model.ts'
import { madeCall } from '../tools/made-call.ts'

/**
 * The playbooks of the tools that were called last, the latest first, from the last turns of the
 * conversation; a turn begins with a user message. They are derived from the conversation each time, so there
 * is no state to store or lose. Pure.
 */
export function playbookNotices(messages: readonly PromptMessage[]): readonly PromptText[] {
  const found = new Set<keyof typeof operatorPlaybooks>()
  let turns = 0
  for (const message of messages.toReversed()) {
    if (message.role === 'user') turns += 1
    if (turns >= playbookTurns) break
    if (message.role !== 'assistant') continue
    for (const { name } of message.toolCalls.map(madeCall).toReversed()) {
      const playbook = playbookOf(name)
      if (playbook !== null) found.add(playbook)
      if (found.size === playbooksMax) return textsOf(found)
    }
  }
  return textsOf(found)
}

function textsOf(found: ReadonlySet<keyof typeof operatorPlaybooks>): readonly PromptText[] {
  return [...found].map((playbook) => sanitizeForPrompt(operatorPlaybooks[playbook]))
}
