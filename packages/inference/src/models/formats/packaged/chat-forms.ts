import type { PackagedAnswer, PackagedForm, PackagedNews, PackagedUsage } from './packaged-writer.ts'

/** The form of Mistral's chat completions: thinking is a part of the content. */
export const mistralForm = chatForm(({ text, thought }) => {
  if (thought === '') return text
  const thinking = { type: 'thinking', thinking: [{ type: 'text', text: thought }] }
  return text === '' ? [thinking] : [thinking, { type: 'text', text }]
})

/** The form of chat completions at Azure, whose package takes no thinking. */
export const azureForm = chatForm(({ text }) => text)

function chatForm(contentOf: (said: PackagedNews) => unknown): PackagedForm {
  return {
    news: (news) => chunk({ content: contentOf(news) }),
    end: ({ calls, end, usage }) => {
      const called = calls.length === 0 ? '' : chunk({ tool_calls: callsOf(calls) })
      return `${called}${chunk({}, { finish: end, usage })}data: [DONE]\n\n`
    },
    whole: ({ id, end, usage, ...said }) => {
      const calls = said.calls.length === 0 ? {} : { tool_calls: callsOf(said.calls) }
      const message = { role: 'assistant', content: contentOf(said), ...calls }
      return JSON.stringify({
        id,
        object: 'chat.completion',
        choices: [{ index: 0, message, finish_reason: end }],
        usage: usageOf(usage),
      })
    },
  }
}

function callsOf(calls: PackagedAnswer['calls']): readonly object[] {
  return calls.map(({ id, ...called }, index) => ({ index, id, type: 'function', function: called }))
}

function chunk(
  delta: object,
  { finish = null, usage }: { readonly finish?: string | null; readonly usage?: PackagedUsage } = {},
): string {
  const chunk = {
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...(usage === undefined ? {} : { usage: usageOf(usage) }),
  }
  return `data: ${JSON.stringify(chunk)}\n\n`
}

function usageOf({ prompt, answer, cached, reasoning }: PackagedUsage): object {
  return {
    prompt_tokens: prompt,
    completion_tokens: answer,
    total_tokens: prompt + answer,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
}
