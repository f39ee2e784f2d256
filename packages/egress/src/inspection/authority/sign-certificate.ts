import { createHash, generateKeyPair, randomBytes, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { isIP } from 'node:net'
import { promisify } from 'node:util'
import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import * as x509 from '@peculiar/asn1-x509'

/** ecdsa-with-SHA256 (RFC 5758). */
const signatureAlgorithm = '1.2.840.10045.4.3.2'
const commonNameType = '2.5.4.3'
const serverAuthentication = '1.3.6.1.5.5.7.3.1'
const serialBytes = 16
const dayMs = 86_400_000
/** How long an authority is valid, in days; it is as old as the home. */
const authorityDays = 3650
/** How long the certificate of a host is valid, in days; each process of the mesh makes new ones. */
const hostDays = 30
/** Tolerates clocks that are behind, in milliseconds. */
const backdatedMs = dayMs

export interface KeyPair {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

/** A certificate authority: its certificate as PEM, and its key. */
export interface Authority {
  readonly certificate: string
  readonly commonName: string
  readonly key: KeyPair
}

const generate = promisify(generateKeyPair)
const signOffLoop = promisify(sign)

/** Makes a P-256 key pair in a thread of Node's pool. */
export function makeKeyPair(): Promise<KeyPair> {
  return generate('ec', { namedCurve: 'P-256' })
}

/** Makes the self-signed certificate of an authority that may sign only certificates of servers. */
export function signAuthority(commonName: string, key: KeyPair, now: number): Promise<string> {
  return signCertificate({
    subject: commonName,
    issuer: { commonName, key },
    publicKey: key.publicKey,
    now,
    days: authorityDays,
    extensions: [
      extension(x509.id_ce_basicConstraints, new x509.BasicConstraints({ cA: true, pathLenConstraint: 0 })),
      extension(
        x509.id_ce_keyUsage,
        new x509.KeyUsage(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign),
      ),
      extension(x509.id_ce_extKeyUsage, new x509.ExtendedKeyUsage([serverAuthentication]), false),
      extension(
        x509.id_ce_subjectKeyIdentifier,
        new x509.SubjectKeyIdentifier(keyIdentifier(key.publicKey)),
        false,
      ),
    ],
  })
}

/** Makes the certificate of one host, a name or an address, signed by the authority. */
export function signHost(
  authority: Authority,
  { host, publicKey, now }: { readonly host: string; readonly publicKey: KeyObject; readonly now: number },
): Promise<string> {
  const name = isIP(host) === 0 ? { dNSName: host } : { iPAddress: host }
  return signCertificate({
    subject: host.length <= commonNameMaxChars ? host : 'host of a fleet',
    issuer: authority,
    publicKey,
    now,
    days: hostDays,
    extensions: [
      extension(x509.id_ce_basicConstraints, new x509.BasicConstraints({ cA: false })),
      extension(x509.id_ce_keyUsage, new x509.KeyUsage(x509.KeyUsageFlags.digitalSignature)),
      extension(x509.id_ce_extKeyUsage, new x509.ExtendedKeyUsage([serverAuthentication]), false),
      extension(
        x509.id_ce_subjectAltName,
        new x509.SubjectAlternativeName([new x509.GeneralName(name)]),
        false,
      ),
      extension(
        x509.id_ce_authorityKeyIdentifier,
        new x509.AuthorityKeyIdentifier({
          keyIdentifier: new x509.KeyIdentifier(keyIdentifier(authority.key.publicKey)),
        }),
        false,
      ),
    ],
  })
}

/** The maximum length of a common name in a certificate (RFC 5280), in characters. */
const commonNameMaxChars = 64

async function signCertificate(options: {
  readonly subject: string
  readonly issuer: Pick<Authority, 'commonName' | 'key'>
  readonly publicKey: KeyObject
  readonly now: number
  readonly days: number
  readonly extensions: readonly x509.Extension[]
}): Promise<string> {
  const { issuer, now } = options
  const algorithm = new x509.AlgorithmIdentifier({ algorithm: signatureAlgorithm })
  const content = new x509.TBSCertificate({
    version: x509.Version.v3,
    serialNumber: serialNumber(),
    signature: algorithm,
    issuer: nameOf(issuer.commonName),
    validity: new x509.Validity({
      notBefore: new Date(now - backdatedMs),
      notAfter: new Date(now + options.days * dayMs),
    }),
    subject: nameOf(options.subject),
    subjectPublicKeyInfo: publicKeyInfo(options.publicKey),
    extensions: new x509.Extensions([...options.extensions]),
  })
  const signed = Buffer.from(AsnConvert.serialize(content))
  const signature = await signOffLoop('sha256', signed, { key: issuer.key.privateKey, dsaEncoding: 'der' })
  const certificate = new x509.Certificate({
    tbsCertificate: content,
    signatureAlgorithm: algorithm,
    signatureValue: bytesOf(signature),
  })
  return pemOf(Buffer.from(AsnConvert.serialize(certificate)))
}

function extension(extnID: string, value: object, critical = true): x509.Extension {
  return new x509.Extension({
    extnID,
    critical,
    extnValue: new OctetString(AsnConvert.serialize(value)),
  })
}

function nameOf(commonName: string): x509.Name {
  return new x509.Name([
    new x509.RelativeDistinguishedName([
      new x509.AttributeTypeAndValue({
        type: commonNameType,
        value: new x509.AttributeValue({ utf8String: commonName }),
      }),
    ]),
  ])
}

function publicKeyInfo(key: KeyObject): x509.SubjectPublicKeyInfo {
  return AsnConvert.parse(key.export({ type: 'spki', format: 'der' }), x509.SubjectPublicKeyInfo)
}

function keyIdentifier(key: KeyObject): ArrayBuffer {
  return bytesOf(
    createHash('sha1')
      .update(Buffer.from(publicKeyInfo(key).subjectPublicKey))
      .digest(),
  )
}

/** A positive number: the first bit is 0, and the first byte is not 0. */
function serialNumber(): ArrayBuffer {
  const bytes = randomBytes(serialBytes)
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40
  return bytesOf(bytes)
}

function bytesOf(bytes: Uint8Array): ArrayBuffer {
  return Uint8Array.from(bytes).buffer
}

function pemOf(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}
