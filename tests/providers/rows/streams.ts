import { choice, chunk, data, done, end, hello, plain, whole } from '../oddity.ts'
import type { Oddity } from '../oddity.ts'

const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }

/** Oddities in how answers are framed and ended. */
export const streamOddities: readonly Oddity[] = [
  {
    what: 'the usage comes in a last chunk without choices',
    source: 'platform.openai.com API reference, chat completions, stream_options',
    wire: hello + end + data({ id: 'c1', choices: [], usage }) + done,
    normal: { ...plain, usage: [10, 2] },
  },
  {
    what: 'the usage comes with every chunk and grows',
    source:
      'alfredapp/openai-workflow: If the finishReason is not returned, then the streaming will not work',
    wire:
      data({ ...choice({ content: 'Hello' }), usage: { prompt_tokens: 10, completion_tokens: 1 } }) +
      data({ ...choice({}, 'stop'), usage }) +
      done,
    normal: { ...plain, usage: [10, 2] },
  },
  {
    what: 'the usage is null in every chunk',
    source:
      'microsoft/agent-framework, odysseus-dev/odysseus: parser crashes on null choice, usage and call entries',
    wire:
      data({ ...choice({ content: 'Hello' }), usage: null }) +
      data({ ...choice({}, 'stop'), usage: null }) +
      done,
    normal: plain,
  },
  {
    what: 'the first chunk has the results of a filter and no choices',
    source: 'AbanteAI/mentat: Don’t choke on Azure OpenAI content filtering metadata',
    wire:
      data({ id: '', choices: [], model: '', prompt_filter_results: [{ prompt_index: 0 }] }) +
      hello +
      end +
      done,
    normal: plain,
  },
  {
    what: 'a choice has no delta, but offsets of a filter',
    source: 'microsoft/autogen: Not quite empty chunk being received from Azure when streaming',
    wire:
      hello +
      data({ id: '', choices: [{ index: 0, finish_reason: null, content_filter_offsets: {} }] }) +
      end +
      done,
    normal: plain,
  },
  {
    what: 'the delta of the last chunk is null',
    source: 'microsoft/agent-framework: guard against null delta in streaming chunks',
    wire: hello + chunk(null, 'stop') + done,
    normal: plain,
  },
  {
    what: 'choices is null, and an entry of choices is null',
    source: 'RooCodeInc/Roo-Code: prevent crash when streaming chunks have null choices array',
    wire: data({ id: 'c1', choices: null }) + hello + data({ id: 'c1', choices: [null] }) + end + done,
    normal: plain,
  },
  {
    what: 'there is a mark of the end and no reason for it',
    source: 'anomalyco/opencode: stream always ends without finish_reason',
    wire: hello + done,
    normal: plain,
  },
  {
    what: 'there is a reason for the end and no mark of it',
    source: 'ikawrakow/ik_llama.cpp: Server does not send data: [DONE]',
    wire: hello + end,
    normal: plain,
  },
  {
    what: 'the usage at the end is all that says that it is over',
    source: 'cline/cline: guard against null or empty choices in streaming responses',
    wire: hello + data({ id: 'c1', choices: [], usage }),
    normal: { ...plain, usage: [10, 2] },
  },
  {
    what: 'it breaks off, with neither reason, mark nor usage',
    source: 'vaadin/flow-components: handle stream ends with no finish reasons',
    wire: hello,
    normal: { problem: 'upstream-failed', says: 'ended its answer early' },
  },
  {
    what: 'lines end in CR LF',
    source: 'html.spec.whatwg.org, server-sent events, parsing an event stream',
    wire: (hello + end + done).replaceAll('\n', '\r\n'),
    normal: plain,
  },
  {
    what: 'lines end in CR alone',
    source: 'html.spec.whatwg.org, server-sent events, parsing an event stream',
    wire: (hello + end + done).replaceAll('\n', '\r'),
    normal: plain,
  },
  {
    what: 'comments keep the connection open',
    source: 'openrouter.ai documentation, streaming, comments in a stream',
    wire: `: OPENROUTER PROCESSING\n\n${hello}: OPENROUTER PROCESSING\n\n${end}${done}`,
    normal: plain,
  },
  {
    what: 'events have names, ids and a time to try again',
    source: 'html.spec.whatwg.org, server-sent events, parsing an event stream',
    wire: `retry: 3000\nid: 1\nevent: message\n${hello}id: 2\nevent: chunk\n${end}${done}`,
    normal: plain,
  },
  {
    what: 'there is no space behind data:',
    source: 'html.spec.whatwg.org, server-sent events, parsing an event stream',
    wire: (hello + end + done).replaceAll('data: ', 'data:'),
    normal: plain,
  },
  {
    what: 'a byte order mark stands before the first line',
    source: 'html.spec.whatwg.org, server-sent events, parsing an event stream',
    wire: `\uFEFF${hello}${end}${done}`,
    normal: plain,
  },
  {
    what: 'the JSON of an event goes over several data lines',
    source: 'html.spec.whatwg.org, server-sent events, parsing an event stream',
    wire: `data: ${JSON.stringify(choice({ content: 'Hello' }), null, 1).replaceAll('\n', '\ndata: ')}\n\n${end}${done}`,
    normal: plain,
  },
  {
    what: 'the last blank line is missing',
    source: 'langchain4j and other readers of server-sent events: last event without a blank line is lost',
    wire: (hello + end).trimEnd(),
    normal: plain,
  },
  {
    what: 'pings and empty objects come between the chunks',
    source: 'docs.claude.com, streaming messages, ping events, as gateways hand them on',
    wire: `data: ping\n\n${hello}data: {}\n\ndata: {"type":"ping"}\n\n${end}${done}`,
    normal: plain,
  },
  {
    what: 'a whole answer in JSON comes where a stream was asked for',
    source: 'openwebui and LM Studio users: stream requested, application/json returned',
    wire: whole({ role: 'assistant', content: 'Hello' }, 'stop', { usage }),
    contentType: 'application/json',
    normal: { ...plain, usage: [10, 2] },
    openAiClient: 'the normal form',
  },
  {
    what: 'a stream is said to be JSON',
    source: 'vercel/ai: event stream served with the content type application/json',
    wire: hello + end + done,
    contentType: 'application/json',
    normal: plain,
    openAiClient: 'the normal form',
  },
  {
    what: 'lines of JSON come in place of events',
    source: 'github.com/ollama/ollama, docs/api.md, streaming responses',
    wire: `${JSON.stringify({ model: 'm', message: { role: 'assistant', content: 'Hel' }, done: false })}\n${JSON.stringify(
      {
        model: 'm',
        message: { role: 'assistant', content: 'lo' },
        done: true,
        done_reason: 'stop',
        prompt_eval_count: 10,
        eval_count: 2,
      },
    )}\n`,
    contentType: 'application/x-ndjson',
    normal: { ...plain, usage: [10, 2] },
    openAiClient: 'the normal form',
  },
  {
    what: 'a page comes in place of an answer',
    source: 'openai/openai-node and litellm users: HTML of a proxy with status 200',
    wire: '<!DOCTYPE html><html><head><title>Sign in</title></head><body>Sign in to go on</body></html>',
    contentType: 'text/html',
    normal: { problem: 'provider-unreadable', says: 'Sign in' },
    openAiClient: 'an error',
  },
  {
    what: 'a plain text comes in place of an answer',
    source: 'envoyproxy/envoy: upstream connect error or disconnect/reset before headers',
    wire: 'upstream connect error or disconnect/reset before headers',
    contentType: 'text/plain',
    normal: { problem: 'provider-unreadable', says: 'upstream connect error' },
    openAiClient: 'an error',
  },
  {
    what: 'an event is cut in the middle of its JSON',
    source: 'vllm-project/vllm and openai-python users: Unterminated string in a chunk',
    wire: `data: {"choices":[{"delta":{"content":"Hel\n\n${end}${done}`,
    normal: { problem: 'provider-unreadable' },
  },
  {
    what: 'nothing comes at all',
    source: 'ollama/ollama and LM Studio users: empty body with status 200',
    wire: '',
    normal: { problem: 'upstream-failed' },
    openAiClient: 'an error',
  },
  {
    what: 'the reasoning of another protocol comes where a chat was asked for',
    source: 'platform.openai.com API reference, responses, streaming events',
    wire:
      data({ type: 'response.created', response: { id: 'r1' } }) +
      data({ type: 'response.completed' }) +
      done,
    normal: { problem: 'provider-unreadable', says: 'type' },
  },
  {
    what: 'the same name stands twice in an object',
    source: 'RFC 8259, section 4: names within an object should be unique',
    wire: `data: {"choices":[{"index":0,"delta":{"content":"Bye","content":"Hello"},"finish_reason":"stop"}]}\n\n${done}`,
    normal: plain,
  },
  {
    what: 'blanks stand around the JSON',
    source: 'deepseek API documentation: blank lines and keep-alive while a request waits',
    wire: `\n\n   \n${whole({ content: 'Hello' })}   \n\n`,
    contentType: 'application/json',
    normal: plain,
    openAiClient: 'the normal form',
  },
  {
    what: 'several answers are told at once, mixed',
    source: 'platform.openai.com API reference, chat completions, n',
    wire:
      data({
        choices: [
          { index: 0, delta: { content: 'Hel' } },
          { index: 1, delta: { content: 'Good ' } },
        ],
      }) +
      data({ choices: [{ index: 1, delta: { content: 'day' }, finish_reason: 'stop' }] }) +
      data({ choices: [{ index: 0, delta: { content: 'lo' }, finish_reason: 'stop' }] }) +
      done,
    normal: plain,
  },
  {
    what: 'the only answer has the index 1',
    source: 'BerriAI/litellm: choice index of single answers is not 0',
    wire:
      data({ choices: [{ index: 1, delta: { content: 'Hello' } }] }) +
      data({ choices: [{ index: 1, delta: {}, finish_reason: 'stop' }] }) +
      done,
    normal: plain,
  },
]
