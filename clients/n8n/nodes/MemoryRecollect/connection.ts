import { Recollect } from '@recollect/client';
import type { ICredentialDataDecryptedObject } from 'n8n-workflow';

/** A client for the server of a credential. */
export function connect(credential: ICredentialDataDecryptedObject): Recollect {
	const { address, apiKey, tls, ca, serverName } = credential as Record<string, string | boolean>;
	const certificates = { ca: String(ca || '') || undefined, serverName: String(serverName || '') || undefined };
	return new Recollect({
		// With a scheme that contradicts the setting for TLS it is refused.
		address: String(address),
		apiKey: String(apiKey || ''),
		tls: tls === true && certificates,
		// Switching TLS off in the credential is the consent to this.
		allowPlaintextKey: tls !== true,
	});
}
