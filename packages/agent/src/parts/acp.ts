/** The client side of the Agent Client Protocol; loaded with the first run of an agent that has a harness. */
export { PROTOCOL_VERSION, client, methods, ndJsonStream } from '@agentclientprotocol/sdk'
