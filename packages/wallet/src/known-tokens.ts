import type { ChainName } from '@flotilla/protocol/wallet-api'
import { isSameAddress } from './chain/address-key.ts'

/**
 * Tokens that others imitate, each at the one address that its issuer gives for that chain:
 *
 * - USDC, EURC: developers.circle.com/stablecoins/usdc-contract-addresses and eurc-contract-addresses
 * - USDT: tether.to/en/supported-protocols; on Arbitrum and Polygon, the former bridge tokens that Tether took over
 * - DAI: chainlog.makerdao.com; on Arbitrum and Polygon, the token of the chain's own bridge
 * - WETH: the contract of etherscan.io/token that wraps the coin; elsewhere the token of the chain's own bridge
 */
const knownTokens: Readonly<Record<ChainName, Readonly<Record<string, string>>>> = {
  ethereum: {
    USDC: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
    EURC: '0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c',
    USDT: '0xdAC17F958D2ee523a2206206994597C13D831ec7',
    DAI: '0x6B175474E89094C44Da98b954EedeAC495271d0F',
    WETH: '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2',
  },
  base: {
    USDC: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    EURC: '0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42',
    WETH: '0x4200000000000000000000000000000000000006',
  },
  arbitrum: {
    USDC: '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
    USDT: '0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9',
    DAI: '0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1',
    WETH: '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1',
  },
  polygon: {
    USDC: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
    USDT: '0xc2132D05D31c914a87C6611C10748AEb04B58e8F',
    DAI: '0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063',
    WETH: '0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619',
  },
  sepolia: { USDC: '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238' },
  solana: {
    USDC: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
    EURC: 'HzwqbKZw8HxMN6bF2yFZNrht3c2iXXzpKcFu7uBEDKtr',
    USDT: 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB',
  },
  'solana-devnet': { USDC: '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU' },
}

/** Returns the addresses of a chain's known tokens by symbol. Pure. */
export function knownTokensOf(chain: ChainName): Readonly<Record<string, string>> {
  return knownTokens[chain]
}

/**
 * Returns the symbol under which exchanges trade a token; null for tokens that are not well known and for tokens of
 * test chains, which have no value. WETH counts as ETH, for which it can be exchanged at any time. Pure.
 */
export function soldAs({
  chain,
  token,
}: {
  readonly chain: ChainName
  readonly token: string
}): string | null {
  if (chain === 'sepolia' || chain === 'solana-devnet') return null
  const found = Object.entries(knownTokens[chain]).find(([, address]) => isSameAddress(address, token))
  const name = found?.[0] ?? null
  return name === 'WETH' ? 'ETH' : name
}
