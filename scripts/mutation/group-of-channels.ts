const channels = 'packages/mesh/src/channels'

/** What people on chat platforms say, and what they are told. */
export const groupOfChannels = {
  name: 'channels',
  decides: 'who is heard on a chat platform, what of it, and who is told',
  files: [
    `${channels}/delivery/is-wanted.ts`,
    `${channels}/delivery/notice-text.ts`,
    `${channels}/intake/agent-busy.ts`,
    `${channels}/intake/join-album.ts`,
    `${channels}/intake/plain-message.ts`,
  ],
  tests: [
    `${channels}/delivery/*.test.ts`,
    `${channels}/intake/{agent-busy,join-album,plain-message}.test.ts`,
  ],
}

/** Before anybody is somebody there, and before a library reads what came. */
export const groupOfChatTrust = {
  name: 'chat-trust',
  decides: 'who becomes an owner by a code, and what of a platform’s wire is believed',
  files: [
    `${channels}/adapters/discord/gateway-wire.ts`,
    `${channels}/adapters/gateway-packet.ts`,
    `${channels}/adapters/slack/socket-packet.ts`,
    `${channels}/commands/spell-commands.ts`,
    `${channels}/commands/where-else.ts`,
    `${channels}/pairing/pairing-codes.ts`,
  ],
  tests: [
    `${channels}/adapters/{discord/gateway-wire,gateway-packet,slack/socket-packet}.test.ts`,
    `${channels}/commands/*.test.ts`,
    `${channels}/pairing/*.test.ts`,
  ],
}
