type Members = Readonly<Record<string, unknown>>

/**
 * Returns the prompt of a Messages API request as the model reads it: without deferred tools, and with the definition
 * of a tool where a result refers to it. Throws, with Anthropic's texts, for what Anthropic rejects. Pure.
 */
export function expandedPrompt(body: Members): Members {
  const tools = listOf(body['tools']).map(membersOf)
  refuseDuplicates(tools)
  const deferred = new Map(
    tools.filter((tool) => tool['defer_loading'] === true).map((tool) => [tool['name'], tool]),
  )
  if (tools.length > 0 && deferred.size === tools.length)
    throw new Error('All tools have defer_loading set. At least one tool must be non-deferred.')
  for (const [name, tool] of deferred)
    if (tool['cache_control'] !== undefined)
      throw new Error(
        `Tool '${String(name)}' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot use prompt caching.`,
      )
  const messages = listOf(body['messages']).map((message) => {
    const { content, ...rest } = membersOf(message)
    return {
      ...rest,
      content: Array.isArray(content) ? content.map((part) => expanded(part, deferred)) : content,
    }
  })
  return {
    ...body,
    ...(body['tools'] === undefined ? {} : { tools: tools.filter((tool) => !deferred.has(tool['name'])) }),
    messages,
  }
}

function expanded(part: unknown, deferred: ReadonlyMap<unknown, Members>): unknown {
  const block = membersOf(part)
  const content = listOf(block['content']).map(membersOf)
  const isReference = (one: Members) => one['type'] === 'tool_reference'
  if (block['type'] !== 'tool_result' || !content.some(isReference)) return part
  if (!content.every(isReference)) throw new Error('tool_reference blocks cannot be mixed with other content')
  const definitions = content.map(({ tool_name: name }) => {
    const tool = deferred.get(name)
    if (tool === undefined) throw new Error(`Tool reference '${String(name)}' not found in available tools`)
    const { defer_loading: _deferred, ...definition } = tool
    return { type: 'text', text: JSON.stringify(definition) }
  })
  return { ...block, content: definitions }
}

function refuseDuplicates(tools: readonly Members[]): void {
  const names = tools.map((tool) => tool['name'])
  if (new Set(names).size < names.length) throw new Error('tools: Tool names must be unique.')
}

function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
