import { expect, test } from 'vitest'
import { judgeRefusal } from './judge-refusal.ts'
import { readRefusal } from './read-refusal.ts'

/** Refusals of a conversation as users report them: `status | part | words`. */
const texts = String.raw`
400 | tools | Invalid parameter: Duplicate value for 'tool_call_id' of 'call_gmd4', in messages[7] and messages[8].
400 | tools | Duplicate item found with id fc_123. Remove duplicate items from your input and try again.
400 | tools | Duplicate call_ids submitted: ['call_iNI2', 'call_iNI2']
400 | tools | invalid params, duplicate tool_call id: call_function_bhjp
400 | tools | messages.8.content.4: each tool_use must have a single result. Found multiple ´tool_result´ blocks with id: toolu_01
400 | tools | An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1
400 | tools | <400> InternalError.Algo.InvalidParameter: messages with role "tool" must be a response to a preceeding message with "tool_calls".
400 | tools | Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.
400 | tools | No tool call found for function call output with call_id call_1t4.
400 | tools | Not the same number of function calls and responses
400 | tools | Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9.
400 | tools | Unexpected role RoleEnum.tool
400 | tools | Unexpected role 'tool' after role 'user'
400 | tools | Unexpected role 'tool' after role 'system'
400 | tools | Unexpected role 'user' after role 'tool'
400 | tools | 'messages.3' : for 'role:tool' the following must be satisfied[('messages.3.tool_call_id' : property 'tool_call_id' is missing)]
400 | tools | Expected toolResult blocks at messages.2.content for the following Ids: tooluse_jQ9
400 | tools | messages.7.content: Conversation blocks and tool use blocks cannot be provided in the same turn.
400 | tools | messages.4.content: Conversation blocks and tool result blocks cannot be provided in the same turn.
400 | tools | The content field at messages.1.content.0.toolResult cannot be empty when status value is error.
400 | tools | Invalid 'messages[9].tool_calls[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.
400 | tools | messages.5.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'
400 | tools | Invalid 'messages[2].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.
400 | tools | invalid params, tool result's tool id(call_1) not found (2013)
400 | tools | invalid params, tool call result does not follow tool call (2013)
400 | tools | Invalid request: tool_call_id  is not found
400 | tools | tool_call_id 不能为空
400 | tools | Can only get item pairs from a mapping.
400 | tools | Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.
500 | tools | While executing CallExpression at line 1: Error: Jinja Exception: Tool call IDs should be alphanumeric strings with length 9!
400 | tools | Assistant message must have either content or tool_calls, but not both.
400 | tools | tool call id not found in previous tool calls
400 | thinking | messages.3.content.11: ´thinking´ or ´redacted_thinking´ blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.
400 | thinking | messages.1.content.0: Invalid ´data´ in ´redacted_thinking´ block
400 | thinking | 'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning' is unsupported, did you mean 'role'?)]
400 | thinking | Extra inputs are not permitted, field: 'messages[2].reasoning_content', value: 'hm'
400 | thinking | Item with id 'rs_123' not found. Items are not persisted when ´store´ is set to false.
400 | thinking | Item 'rs_123' of type 'reasoning' was provided without its required following item.
400 | thinking | thinking is enabled but reasoning_content is missing in assistant tool call message at index 2
400 | thinking | Corrupted thought signature.
400 | thinking | Function call is missing a thought_signature in functionCall parts.
400 | text | The request body is not valid JSON: invalid high surrogate in string: line 1 column 136188 (char 136187)
400 | text | The request body is not valid JSON: no low surrogate in string: line 1 column 28642 (char 28641)
400 | empty | Assistant message must have either content or tool_calls, but not none.
400 | empty | invalid request: all elements in history must have a message.
400 | empty | messages.2: all messages must have non-empty content except for the optional final assistant message
400 | order | Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant
400 | order | A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.
400 | order | deepseek-reasoner does not support successive user or assistant messages (messages[1] and messages[2] in your input). You should interleave the user/assistant messages in the message sequence.
400 | order | The last message of deepseek-reasoner must be a user message, or an assistant message with prefix mode on
400 | order | Please use a valid role: user, model.
400 | order | invalid params, invalid message role: system
400 | order | System message must be at the beginning.
400 | order | No user query found in messages.
400 | order | Only user and assistant roles are supported!
500 | order | Jinja Exception: After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.
200 | order | rpc error: code = InvalidArgument desc = Error: Jinja Exception: After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.
400 | order | Error rendering prompt with jinja template: "Conversation roles must alternate user/assistant/user/assistant/..."
404 | images | No endpoints found that support image input
400 | message | 'messages.4' : for 'role:assistant' the following must be satisfied[('messages.4.content' : value must be a string)]
400 | message | json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string
400 | message | Failed to parse messages: Missing 'content' in message
400 | message | [{'type': 'missing', 'loc': ('body', 'messages', 1, 'content'), 'msg': 'Field required'}]
`
const rows = texts
  .trim()
  .split('\n')
  .map((line) => line.split(' | '))

test.each(rows)('status %s is a refusal of %s: %s', (status = '', part = '', words = '') => {
  const message = words.replaceAll('´', '`')
  const facts = readRefusal(JSON.stringify({ error: { message, type: 'invalid_request_error' } }), {
    status: Number(status),
    provider: 'x',
    host: '',
  })
  expect(judgeRefusal(facts)).toMatchObject({ means: 'history', part })
})

test('a list of what is wrong with the body names the place of each', () => {
  const body = {
    detail: [
      {
        type: 'string_type',
        loc: ['body', 'messages', 3, 'tool', 'tool_call_id'],
        msg: 'Input should be a valid string',
      },
    ],
  }
  const facts = readRefusal(JSON.stringify(body), { status: 422, provider: 'mistral', host: '' })
  expect(judgeRefusal(facts)).toMatchObject({ means: 'history', part: 'tools' })
})

test.each([
  'Invalid schema for function ´look´: tools[0].function.parameters must be an object',
  'tools.0.custom.name: String should match pattern',
  'This model does not support tool calls',
  'max_tokens must be at least 1',
  'temperature: range: 0..1',
])('words about offered tools and parameters are no refusal of the conversation: %s', (words) => {
  const facts = readRefusal(JSON.stringify({ error: { message: words } }), {
    status: 400,
    provider: 'x',
    host: '',
  })
  expect(judgeRefusal(facts).means).toBe(null)
})
