import type { PromptMessage } from '../llm/language-model.ts'

/** Messages that make sense only together: an answer with the results of its calls, or any other single message. */
export type MessageGroup = readonly PromptMessage[]

/** Splits a conversation into groups; all messages stay, in their order. Pure. */
export function groupMessages(messages: readonly PromptMessage[]): readonly MessageGroup[] {
  const groups: PromptMessage[][] = []
  for (const message of messages) {
    const last = groups.at(-1)
    if (message.role === 'tool' && last?.[0] && belongs(message, last)) last.push(message)
    else groups.push([message])
  }
  return groups
}

function belongs(result: PromptMessage, group: readonly PromptMessage[]): boolean {
  const [head] = group
  return (
    result.role === 'tool' &&
    head?.role === 'assistant' &&
    head.toolCalls.some((call) => call.id === result.toolCallId)
  )
}

export interface CutConversation {
  readonly kept: readonly PromptMessage[]
  /** What was removed, in order. */
  readonly dropped: readonly PromptMessage[]
}

export interface CutRule {
  /** The size up to which groups stay, in the unit of `sizeOf`. */
  readonly room: number
  readonly sizeOf: (message: PromptMessage) => number
  /** True for a task: the first message, which is the text of the task, is never cut. */
  readonly pinFirst: boolean
  /** True for earlier summaries, which belong to no speaker and may be cut like other messages. */
  readonly isSummary: (message: PromptMessage) => boolean
}

/** Groups at the end that stay even when there is no room for them. */
const groupsKeptMin = 2

/**
 * The only way in which messages leave a conversation: by whole groups, oldest first. The last message of the
 * user and the message that started the present turn stay; with `pinFirst`, so does the beginning. Pure.
 */
export function cutGroups(messages: readonly PromptMessage[], rule: CutRule): CutConversation {
  const groups = groupMessages(messages)
  const pinned = pinnedGroups(groups, rule)
  const sizes = groups.map((group) => group.reduce((sum, message) => sum + rule.sizeOf(message), 0))
  let left = rule.room
  for (const index of pinned) left -= sizes[index] ?? 0
  let from = groups.length
  for (let index = groups.length - 1; index >= 0; index -= 1) {
    const size = pinned.has(index) ? 0 : (sizes[index] ?? 0)
    if (groups.length - index > groupsKeptMin && size > left) break
    left -= size
    from = index
  }
  const stays = (_group: MessageGroup, index: number): boolean => index >= from || pinned.has(index)
  return {
    kept: groups.filter(stays).flat(),
    dropped: groups.filter((group, index) => !stays(group, index)).flat(),
  }
}

function pinnedGroups(groups: readonly MessageGroup[], rule: CutRule): ReadonlySet<number> {
  const pinned = new Set<number>()
  const isRequest = (group: MessageGroup | undefined): boolean => {
    const message = group?.[0]
    return message?.role === 'user' && !rule.isSummary(message)
  }
  if (rule.pinFirst && isRequest(groups[0])) pinned.add(0)
  const lastAsked = groups.findLastIndex(isRequest)
  if (lastAsked === -1) return pinned
  pinned.add(lastAsked)
  const lastSaid = groups.slice(0, lastAsked).findLastIndex((group) => {
    const [head] = group
    return head?.role === 'assistant' && head.toolCalls.length === 0
  })
  const turnBegan = groups.findIndex((group, index) => index > lastSaid && isRequest(group))
  for (let index = turnBegan; index !== -1 && isRequest(groups[index]); index += 1) pinned.add(index)
  return pinned
}
