const channels = 'packages/inbound/src/channels'

/** Messages of people on chat platforms, and notices to them. */
export const groupOfChannels = {
  name: 'channels',
  decides: 'which messages of a chat platform are accepted, and who is notified',
  files: [
    `${channels}/delivery/is-wanted.ts`,
    `${channels}/delivery/notice-text.ts`,
    `${channels}/messages/agent-busy.ts`,
    `${channels}/messages/join-album.ts`,
    `${channels}/messages/plain-message.ts`,
  ],
  tests: [
    `${channels}/delivery/*.test.ts`,
    `${channels}/messages/{agent-busy,join-album,plain-message}.test.ts`,
  ],
}

/** Pairing of accounts, and checks of data from a platform before a library parses it. */
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
