export {
  Client,
  ReadBuffer,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  serializeMessage,
} from '@modelcontextprotocol/client'
