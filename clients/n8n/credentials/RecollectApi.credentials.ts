import type { Icon, ICredentialType, INodeProperties } from 'n8n-workflow';

/** How a Recollect server is reached. */
export class RecollectApi implements ICredentialType {
	name = 'recollectApi';
	displayName = 'Recollect API';
	icon: Icon = { light: 'file:../icons/recollect.svg', dark: 'file:../icons/recollect.dark.svg' };
	documentationUrl = 'https://github.com/recollect-memory/recollect/tree/main/clients/n8n';
	properties: INodeProperties[] = [
		{
			displayName: 'Address',
			name: 'address',
			type: 'string',
			default: '',
			required: true,
			placeholder: 'memory.example.com:50051',
			description: 'The host and port of the server',
		},
		{
			displayName: 'API Key',
			name: 'apiKey',
			type: 'string',
			typeOptions: { password: true },
			default: '',
			description: 'Selects the tenant. Empty for a server without keys.',
		},
		{
			displayName: 'Use TLS',
			name: 'tls',
			type: 'boolean',
			default: true,
			description: 'Whether the connection is encrypted. Without TLS the API key is sent in the clear.',
		},
		{
			displayName: 'Certificate Authority',
			name: 'ca',
			type: 'string',
			typeOptions: { rows: 4 },
			default: '',
			placeholder: '-----BEGIN CERTIFICATE-----',
			description: "The authority that signed the server's certificate, in PEM, if it is not a public one",
			displayOptions: { show: { tls: [true] } },
		},
		{
			displayName: 'Server Name',
			name: 'serverName',
			type: 'string',
			default: '',
			description: "The name in the server's certificate, if it is not the host of the address",
			displayOptions: { show: { tls: [true] } },
		},
	];
}
